import { Page } from '../../parts/page.tsx'
import { Accounts } from './accounts.tsx'
import { Alarms } from './alarms.tsx'
import { Audit } from './audit.tsx'
import { InterfaceDrift } from './interface-drift.tsx'
import { Processes } from './processes.tsx'
import { Settings } from './settings.tsx'
import { Upkeep } from './upkeep.tsx'

/** The program itself: alarms, accounts, processes, upkeep, drift of the interface, and who did what. */
export function Operations() {
  return (
    <Page title="Operations" className="operations">
      <Alarms />
      <Accounts />
      <Processes />
      <Upkeep />
      <InterfaceDrift />
      <Settings />
      <Audit />
    </Page>
  )
}
