import { Link } from '@tanstack/react-router'
import { useAnchor } from '../../layout/anchor.ts'
import { operationsSections } from '../../layout/navigation.ts'
import { Page } from '../../parts/page.tsx'
import { Accounts } from './accounts.tsx'
import { Alarms } from './alarms.tsx'
import { ApiChanges } from './api-changes.tsx'
import { Audit } from './audit.tsx'
import { Processes } from './processes.tsx'
import { Settings } from './settings.tsx'
import { Upkeep } from './upkeep.tsx'

export function Operations() {
  useAnchor()
  return (
    <Page title="Operations">
      <ul className="jumps cluster table-text" aria-label="Sections">
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
      <ApiChanges />
      <Audit />
      <Settings />
    </Page>
  )
}
