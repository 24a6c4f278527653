import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { processesQuery, statusQuery } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Facts, Section } from '../../parts/fields.tsx'
import { QueryTable } from '../../parts/query-table.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { QueryState } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age, AsOf } from '../../parts/time.tsx'

type Process = Schemas['Process']

export function Processes() {
  const [isStatusShown, setStatusShown] = useState(false)
  const running = useQuery(processesQuery)
  return (
    <Section id="processes" title="Processes">
      <QueryTable
        query={running}
        label="Processes"
        columns={columns}
        keyOf={({ process_id }) => process_id}
        empty="No process is running."
      />
      {isStatusShown ? (
        <Status />
      ) : (
        <div className="actions">
          <Button isSmall onClick={() => setStatusShown(true)}>
            Show status
          </Button>
        </div>
      )}
    </Section>
  )
}

function Status() {
  const query = useQuery(statusQuery)
  return (
    <QueryState query={query} rows={2}>
      {(status) => (
        <>
          {status.warnings.length > 0 && (
            <ul className="lines">
              {status.warnings.map((warning) => (
                <li key={warning}>
                  <span>
                    <Sentence text={warning} />
                  </span>
                </li>
              ))}
            </ul>
          )}
          <Facts
            items={[
              status.counted_at !== null && ['Counted', <AsOf key="counted" at={status.counted_at} />],
              ['Version', status.version],
              ['Database', status.database],
              ['Change log', `changes ${status.change_log.first_seq} to ${status.change_log.last_seq}`],
              status.backup !== null && ['Last backup', <Age key="made" at={status.backup.made_at} />],
              status.backup !== null && ['Last test restore', <Age key="tried" at={status.backup.tried_at} />],
            ]}
          />
        </>
      )}
    </QueryState>
  )
}

const columns: readonly Column<Process>[] = [
  {
    id: 'id',
    head: 'Process',
    isWide: true,
    cell: ({ process_id, is_this }) => (
      <>
        <span className="mono">{process_id}</span> {is_this && <span className="quiet">this process</span>}
      </>
    ),
  },
  { id: 'role', head: 'Role', cell: ({ role }) => role },
  { id: 'version', head: 'Version', rank: 2, cell: ({ version }) => version },
  { id: 'started', head: headOf('started_at'), isNumber: true, rank: 2, cell: ({ started_at }) => <Age at={started_at} /> },
  { id: 'seen', head: headOf('seen_at'), isNumber: true, cell: ({ seen_at }) => <Age at={seen_at} /> },
]
