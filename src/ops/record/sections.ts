import type { Row } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import { parseTime } from '../../model/time.ts'
import type { Cell } from '../../reconcile/report/document.ts'
import { moment } from '../../reconcile/report/words.ts'
import type { LoggedChange } from '../../store/changes/reader.ts'
import type { AsOf } from '../actions/as-of.ts'
import { headOf } from '../output/words.ts'

/** What a record shows. */
export interface RecordData {
  readonly of: SubmissionRef
  readonly asOf: AsOf
  /** Rows as of the record's time. */
  readonly tables: ReadonlyMap<string, readonly Row[]>
  readonly changes: LoggedChange[]
  /** Paths of the documents in the archive, by `document_key`. */
  readonly documents: Map<string, string>
  /** Links to the signed deliveries in the archive, by the ids of their events and messages. */
  readonly deliveries: Map<string, Cell>
  /** What was verified. */
  readonly checks: string[]
  /** What is known to be missing. */
  readonly gaps: string[]
}

/**
 * Sections of the page: table, heading, and columns to show. `rowsTable` adds the columns `market_name` and `gone_at`.
 * All other data is only in `record.json`.
 */
export const SECTIONS = [
  ['submissions', 'Submission', 'insured_name state lines effective_date'],
  ['lanes', 'Markets', 'program lines status_label next_step'],
  ['quotes', 'Quotes', 'premium_display lines is_revision first_seen_at'],
  ['requirement_items', 'Requirements', 'label result due_stage'],
  ['outstanding_items', 'Open items', 'markets label how_to_provide'],
  ['bind_requests', 'Bind requests', 'premium_display status_label requested_at requested_by effective_date payment_option policy_number'],
  ['bind_contingencies', 'Conditions of bind requests', 'label status'],
  ['bind_assumptions', 'Statements to confirm for bind requests', 'label value'],
  ['policies', 'Policies', 'policy_number carrier_name effective_date expiration_date fees_cents taxes_cents total_billed_cents'],
  ['documents', 'Documents', 'name origin stored_at'],
  ['documents_on_file', 'Other documents', 'display_name'],
] as const

export const NOTES: Readonly<Record<string, string>> = {
  quotes: 'For the time at which a market quoted, see its entry quote received in the chronology.',
  requirement_items: 'Deferred: not checked for the quote. For the result at binding, see Conditions of bind requests.',
  outstanding_items: 'The brokerage must still supply these. For what a bind request needs, see its conditions and statements.',
  bind_requests: 'The service gives drafts a time too. The time does not show when the brokerage asked to bind.',
  bind_contingencies: 'The record does not show who waived a condition, or when.',
  bind_assumptions: 'The service no longer shows a statement after it was confirmed.',
  documents: 'The files are in the folder documents of this archive.',
  documents_on_file: 'The service also lists these files by name. They are not in this archive, unless a file above has the same content.',
}

const LABELS: Readonly<Record<string, string>> = {
  body_text: 'Text',
  from_address: 'From',
  lines: 'Lines of coverage',
  is_revision: 'Revises an earlier quote',
  first_seen_at: 'First stored by the mirror',
  stored_at: 'File stored by the mirror',
  origin: 'Kind',
  due_stage: 'Needed for',
  requested_at: 'Time that the service gives',
  to_addresses: 'To',
  value: 'Value shown by the service, not yet confirmed',
  gone_at: 'No longer shown by the service since',
}

export function labelOf(column: string): string {
  return LABELS[column] ?? headOf(column.replace(/_cents$/, ''))
}

export function rowsOf({ tables }: RecordData, table: string): readonly Row[] {
  return tables.get(table) ?? []
}

/** Columns with an id, and the table that contains the row with this id. */
const IDS = { bind_request_id: 'bind_requests', quote_id: 'quotes', policy_id: 'policies', document_url: 'source_offers', lane_id: 'lanes' }

/**
 * @returns the value of a row's column. If the row has no such column, uses the row that one of its ids names.
 * Ignores an id that names several rows.
 */
function linkedValue(r: RecordData, row: Row, column: string): Json {
  if (column in row) return row[column] ?? null
  for (const [id, table] of Object.entries(IDS)) {
    const named = row[id] ? rowsOf(r, table).filter((each) => each !== row && each[id] === row[id]) : []
    const value = named.length === 1 ? linkedValue(r, { ...named[0], [id]: null }, column) : null
    if (value !== null) return value
  }
  return null
}

/** @returns the text of a column for people; empty if the row has no value. */
export function textOf(r: RecordData, row: Row, column: string): string {
  const text = valueText(column, linkedValue(r, row, column))
  const kind = column === 'origin' ? valueText('kind', linkedValue(r, row, 'kind')) : ''
  return kind === '' ? text : `${text} (the service calls it ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind})`
}

export function cellOf(r: RecordData, row: Row, column: string): Cell {
  const [text, href] = [textOf(r, row, column), r.documents.get(String(row['document_key']))]
  if (column !== 'name') return { text }
  return href === undefined ? { text: `${text} (not in this archive)` } : { text, href }
}

/** A value as people read it: amounts in dollars, times in UTC, lists with commas, names of the service as words. */
function valueText(column: string, value: Json | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map((each) => valueText(column, each)).join(', ')
  if (typeof value === 'number' && column.endsWith('_cents'))
    return (value / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' })
  if (typeof value !== 'string') return JSON.stringify(value)
  if (parseTime(value) === value) return moment(value)
  return /^[a-z]+(_[a-z\d]+)+$/.test(value) ? value.replaceAll('_', ' ') : value
}
