import { Link } from '@tanstack/react-router'
import { useAnchor } from '../../layout/anchor.ts'
import { operationsSections } from '../../layout/sections.ts'
import { Page } from '../../parts/page.tsx'
import { Accounts } from './accounts.tsx'
import { Alarms } from './alarms.tsx'
import { Audit } from './audit.tsx'
import { InterfaceDrift } from './interface-drift.tsx'
import { Processes } from './processes.tsx'
import { Settings } from './settings.tsx'
import { Upkeep } from './upkeep.tsx'

/** The program itself: alarms, accounts, processes, upkeep, API changes, who did what, and the settings. */
export function Operations() {
  useAnchor()
  return (
    <Page title="Operations" className="operations">
      <ul className="jumps" aria-label="Sections">
        {operationsSections.map(({ id, name }) => (
          <li key={id}>
            <Link to="/operations" hash={id} search={true} activeOptions={{ includeHash: true }}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
      <Alarms />
      <Accounts />
      <Processes />
      <Upkeep />
      <InterfaceDrift />
      <Audit />
      <Settings />
    </Page>
  )
}
