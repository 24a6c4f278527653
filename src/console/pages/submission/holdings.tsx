import { headOf, wordOf } from '../../../ops/output/words.ts'
import { Section } from '../../parts/fields.tsx'
import { MASK, MaskedValue, Raw, textOf } from '../../parts/masked.tsx'
import { counted } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Age, bothTimes } from '../../parts/time.tsx'
import { StaleNote, type View } from './view.tsx'

type Row = Readonly<Record<string, unknown>> & { readonly row_key: string }

/** Tables without a section of their own on the page, each with its title and its most useful columns. */
const tables: readonly (readonly [table: string, title: string, columns: readonly string[]])[] = [
  ['bind_requests', 'Bind requests', ['status_label', 'payment_option', 'effective_date', 'requested_at', 'requested_by', 'policy_id']],
  ['bind_assumptions', 'Bind assumptions', ['label', 'confirmed', 'status']],
  ['bind_contingencies', 'Bind contingencies', ['label', 'status', 'due_at']],
  ['requirement_items', 'Requirements', ['label', 'result', 'severity', 'due_stage', 'satisfied', 'blocks_submission']],
  ['market_readiness', 'Market readiness', ['market_name', 'program', 'category_label', 'ready', 'needs_from_you']],
  ['applications', 'Applications', ['program_identifier', 'line_of_business', 'route', 'mapping_state', 'request_state', 'missing']],
  ['application_answers', 'Application answers', ['question_key', 'value', 'ownership_kind', 'source_channel', 'source_evidence']],
  ['facts', 'Facts', ['key', 'scope', 'period', 'value', 'confirmed', 'evidence']],
  ['quote_history', 'Quote history', ['market_name', 'program', 'outcome', 'observed_at']],
  ['documents_on_file', 'Documents on file', ['display_name', 'kind_label']],
  [
    'program_assessments',
    'Program assessments',
    ['market_name', 'program_display_name', 'channel', 'enforcement', 'submit_ready', 'evaluated_at'],
  ],
  ['carrier_api_sessions', 'Carrier sessions', ['carrier_slug', 'program', 'status', 'outcome', 'completion_pct', 'has_quote']],
]

/** Tables whose keys are hashes. Their rows are sorted by content, because the order of hashes has no meaning. */
const BY_CONTENT = new Set(['facts', 'documents_on_file'])

/** By table: the part of the service's answer that fills the table. An answer may lack this part. */
const parts: Readonly<Record<string, 'quote_history' | 'assessment'>> = {
  quote_history: 'quote_history',
  program_assessments: 'assessment',
  requirement_items: 'assessment',
}

const MOST_ROWS = 200
const HIDDEN = new Set(['account', 'submission_id', 'row_key', 'gone_at'])

export function Holdings({ view }: { readonly view: View }) {
  const held = tables.flatMap(([table, title, columns]) => {
    const rows = (view.tables[table as keyof View['tables']] ?? []) as readonly Row[]
    const shown = columnsOf(rows, columns)
    return rows.length === 0 ? [] : [{ table, title, rows: BY_CONTENT.has(table) ? sortedBy(rows, shown) : rows, columns: shown }]
  })
  return (
    <>
      {held.map(({ table, title, rows, columns }) => (
        <details key={table} className="holding">
          <summary className="line">
            <h2>{title}</h2> <span className="quiet">{counted(rows.length, 'row')}</span>
          </summary>
          {parts[table] && <StaleNote view={view} part={parts[table]} />}
          <Rows table={table} title={title} rows={rows} columns={columns} />
        </details>
      ))}
      <Section title="Freshness">
        <Table label="Freshness" columns={freshness} rows={view.freshness} keyOf={({ read }) => read} />
      </Section>
    </>
  )
}

const freshness: readonly Column<View['freshness'][number]>[] = [
  { id: 'read', head: 'Data', cell: ({ read }) => wordOf(read) },
  { id: 'at', head: headOf('last_read_at'), isNumber: true, cell: ({ last_read_at }) => <Age at={last_read_at} none="never" /> },
  { id: 'changed', head: headOf('last_changed_at'), isNumber: true, cell: ({ last_changed_at }) => <Age at={last_changed_at} /> },
  { id: 'replay', head: headOf('last_full_read_at'), isNumber: true, cell: ({ last_full_read_at }) => <Age at={last_full_read_at} /> },
]

/** @returns the wanted columns that exist. If fewer than two exist, returns the first six columns that have values. */
function columnsOf(rows: readonly Row[], wanted: readonly string[]): readonly string[] {
  const [first] = rows
  const existing = wanted.filter((column) => first && column in first)
  if (existing.length > 1) return existing
  const filled = Object.keys(first ?? {}).filter((column) => !HIDDEN.has(column) && rows.some((row) => row[column] !== null))
  return filled.slice(0, 6)
}

function sortedBy(rows: readonly Row[], columns: readonly string[]): readonly Row[] {
  const orderOf = (row: Row) => JSON.stringify(columns.map((column) => row[column] ?? ''))
  return rows.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

interface RowsProps {
  readonly table: string
  readonly title: string
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
}

function Rows({ table, title, rows, columns }: RowsProps) {
  return (
    <div className="table-room">
      <table aria-label={title} className="list loose">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {wordOf(column)}
              </th>
            ))}
            <th scope="col">
              <span className="unseen">Raw</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((row) => (
            <tr key={row.row_key}>
              {columns.map((column) => (
                <td key={column} className="on-phone" data-head={wordOf(column)}>
                  <MaskedValue table={table} row={row.row_key} column={column} value={shown(row[column])} what={wordOf(column)} />
                </td>
              ))}
              <td className="number">
                <Raw table={table} row={row.row_key} what={title} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST_ROWS && <p className="quiet">and {rows.length - MOST_ROWS} more</p>}
    </div>
  )
}

function shown(value: unknown): unknown {
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return bothTimes(value).split(' · ')[0]
  return value === MASK ? value : textOf(value)
}
