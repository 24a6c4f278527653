import { useQuery } from '@tanstack/react-query'
import type { Schemas } from '../../api/client.ts'
import { statusQuery } from '../../api/more-queries.ts'
import { Facts, Section } from '../../parts/fields.tsx'
import { textOf } from '../../parts/masked.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Asked, Empty } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Process = Schemas['Status']['processes'][number]

/** What runs, on which version and database, and what `status` warns of. */
export function Processes() {
  const query = useQuery(statusQuery)
  return (
    <Section title="Processes">
      <Asked query={query} rows={2}>
        {(status) => (
          <>
            {status.processes.length === 0 ? (
              <Empty>No process is running.</Empty>
            ) : (
              <Table label="Processes" columns={columns} rows={status.processes} keyOf={({ process_id }) => process_id} />
            )}
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
                ['Version', status.version],
                ['Database', status.database],
                ['Change log', `${status.change_log.first_seq} to ${status.change_log.last_seq}`],
              ]}
            />
          </>
        )}
      </Asked>
    </Section>
  )
}

const time = (value: unknown) => (typeof value === 'string' ? value : null)

const columns: readonly Column<Process>[] = [
  { id: 'id', head: 'Process', isWide: true, cell: ({ process_id }) => <span className="mono">{process_id}</span> },
  { id: 'role', head: 'Role', cell: ({ role }) => role },
  { id: 'version', head: 'Version', rank: 2, cell: ({ version }) => textOf(version) },
  { id: 'started', head: 'Started', isNumber: true, cell: (process) => <Age at={time(process['started_at'])} /> },
]
