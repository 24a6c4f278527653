import { entityNamed } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import { msFromTime, parseTime, type TimeText, timeFromMs } from '../../model/time.ts'
import { html, type Markup } from '../../reconcile/report/markup.ts'
import { moment } from '../../reconcile/report/words.ts'
import type { LoggedChange } from '../../store/changes/reader.ts'
import type { Opened } from '../actions/as-of.ts'
import { headOf, wordOf } from '../output/words.ts'

/** What the page of a record shows. */
export interface Contents {
  readonly of: SubmissionRef
  readonly opened: Pick<Opened, 'rows' | 'asOf'>
  /** Rows as of the record's time, by table. */
  readonly tables: ReadonlyMap<string, readonly Row[]>
  readonly changes: readonly LoggedChange[]
  /** The signed deliveries in the archive, in words, by the ids of their events and messages. */
  readonly deliveries: ReadonlyMap<string, Markup>
  /** Paths of the documents in the archive, by key. */
  readonly documents: ReadonlyMap<string, string>
  readonly checks: readonly string[]
  readonly gaps: readonly string[]
}

export interface Entry {
  readonly at: TimeText
  readonly title: string
  readonly facts: readonly string[]
  readonly text?: Json | undefined
  /** Rows with the name and the key of a document. */
  readonly files?: readonly Row[]
  readonly source: Markup
  /** Copied when tracking began. */
  readonly isFirstCopy?: boolean
}

/** Tables whose changes are entries, with the columns that people need. Everything else is in `record.json`. */
const SHOWN: Readonly<Record<string, readonly [what: string, columns: string]>> = {
  submissions: ['Submission', 'insured_name lines effective_date state'],
  quotes: ['Quote', 'premium_display lines'],
  requirement_items: ['Requirement', 'result'],
  outstanding_items: ['Open item', 'how_to_provide'],
  bind_requests: ['Bind request', 'status_label requested_by effective_date payment_option'],
  bind_assumptions: ['Statement to confirm for the bind request', 'value'],
  bind_contingencies: ['Condition of the bind request', 'status'],
  policies: ['Policy', 'carrier_name lines effective_date expiration_date total_billed_cents'],
  documents: ['Document', 'origin'],
}

/** After the first read of the state, others follow for what it names. */
const FIRST_COPY_MS = 60_000

/** Events, messages, and changes of a submission, oldest first. */
export function entriesOf(c: Contents): Entry[] {
  const [events, messages] = [rowsOf(c, 'market_events'), rowsOf(c, 'thread_messages')]
  const hadHistory = [...events, ...messages].some((row) => row['first_seen_via'] === 'backfill')
  // The first read of the state returns the name.
  const firstRead = hadHistory && c.changes.find(({ entity, after }) => entity === 'submissions' && after?.['insured_name'])
  const firstCopyEnd = firstRead ? timeFromMs(msFromTime(firstRead.changed_at) + FIRST_COPY_MS) : ''
  const entries = [
    ...events.map((row) => eventEntry(c, row)),
    ...messages.map((row) => messageEntry(c, row)),
    ...c.changes.flatMap((change) => changeEntry(c, change, firstCopyEnd) ?? []),
  ]
  return entries.sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1))
}

function eventEntry(c: Contents, row: Row): Entry {
  const what = row['type'] === 'market_attached' ? 'market added to the submission' : wordOf(String(row['type']))
  const status = valueText('status', row['status_label'] ?? row['status'])
  const title = `${row['market_name'] ?? 'Unnamed market'}: ${what}`
  const facts = [status && status.toLowerCase() !== what ? `Status: ${status}` : '', goneText(row)]
  return { at: row['occurred_at'] as TimeText, title, facts, text: row['detail'], source: sourceOf(c, row, 'event_id') }
}

function messageEntry(c: Contents, row: Row): Entry {
  const kind = row['channel'] === 'chat' ? "Message in the service's chat" : headOf(String(row['channel']))
  const [from, to, subject] = ['from_address', 'to_addresses', 'subject'].map((column) => valueText(column, row[column]))
  return {
    at: row['occurred_at'] as TimeText,
    title: `${kind} from the ${row['direction'] === 'outbound' ? 'service' : 'brokerage'}${subject && `: ${subject}`}`,
    facts: [from && `From ${from}`, to && `To ${to}`, goneText(row)].map(String),
    text: row['body_text'],
    files: rowsOf(c, 'thread_attachments').filter(({ message_id }) => message_id === row['message_id']),
    source: sourceOf(c, row, 'message_id'),
  }
}

function goneText({ gone_at }: Row): string {
  return gone_at ? `${labelOf('gone_at')} ${valueText('gone_at', gone_at)}` : ''
}

function sourceOf({ deliveries }: Contents, row: Row, id: string): Markup {
  const delivery = deliveries.get(String(row[id]))
  const stored = valueText('first_seen_at', row['first_seen_at'])
  if (delivery !== undefined) return html`${delivery} First stored ${stored}.`
  if (row['first_seen_via'] === 'webhook') return html`a signed delivery, stored ${stored}, that is no longer held.`
  return html`the service's history, fetched ${stored}. No signed delivery is held.`
}

/** @returns null for tables and columns that aren't shown. */
function changeEntry(c: Contents, { changed_at, operation, ...change }: LoggedChange, firstCopyEnd: string): Entry | null {
  const [what, columns] = SHOWN[change.entity] ?? []
  if (columns === undefined) return null
  const [before, after] = [change.before, change.after].map((part) => (part ?? {}) as Row) as [Row, Row]
  const key = entityNamed(change.entity)?.key.slice(1) ?? []
  const isOfRow = (each: Row) => JSON.stringify(key.map((column) => each[column])) === change.entity_id
  const row = rowsOf(c, change.entity).find(isOfRow) ?? after
  const facts = columns.split(' ').flatMap((column) => {
    const [was, is] = [valueText(column, before[column]), valueText(column, after[column])]
    return was === is ? [] : [`${labelOf(column)}: ${is || 'none'}${was && ` (before: ${was})`}`]
  })
  if (facts.length === 0 && (operation === 'update' || change.entity === 'submissions')) return null
  // A message lists its attachments.
  if (change.entity === 'documents' && row['origin'] === 'attachment') return null
  const names = [row['label'], row['policy_number'], row['name'], marketOf(c, row)].filter((name) => typeof name === 'string')
  // The service's time, if it gives one.
  const at = operation === 'insert' ? (after['requested_at'] ?? after['created_at'] ?? null) : null
  const isNew = operation !== 'gone' && Object.values(before).every((value) => value === null)
  const isFirstCopy = isNew && at === null && changed_at <= firstCopyEnd
  const verb = isFirstCopy ? '' : operation === 'gone' ? ' no longer shown by the service' : isNew ? ' added' : ' changed'
  return {
    at: (at ?? changed_at) as TimeText,
    title: `${what}${verb}${names.length === 0 ? '' : `: ${names.join(', ')}`}`,
    facts: at === null ? facts : ['Values when the mirror stored it', ...facts],
    files: change.entity === 'documents' ? [row] : [],
    source: html`the service's current data, fetched ${moment(changed_at)}. The service does not sign it.`,
    isFirstCopy,
  }
}

export function rowsOf({ tables }: Contents, table: string): readonly Row[] {
  return tables.get(table) ?? []
}

/** @returns the only other row of a table with the same id. */
export function relatedOf(c: Contents, row: Row, table: string, id: string): Row | undefined {
  const [related, ...others] = rowsOf(c, table).filter((each) => each !== row && each[id] === (row[id] ?? undefined))
  return others.length === 0 ? related : undefined
}

/** @returns the market of a row: its own, or that of its lane, quote, or bind request. */
export function marketOf(c: Contents, row: Row): Json {
  const bind = relatedOf(c, row, 'bind_requests', 'bind_request_id' in row ? 'bind_request_id' : 'policy_id') ?? row
  const quote = 'lane_id' in row ? row : (relatedOf(c, bind, 'quotes', 'quote_id') ?? bind)
  return row['market_name'] ?? relatedOf(c, quote, 'lanes', 'lane_id')?.['market_name'] ?? null
}

const LABELS: Readonly<Record<string, string>> = {
  lines: 'Lines of coverage',
  effective_date: 'Coverage starts',
  expiration_date: 'Coverage ends',
  total_billed_cents: 'Premium billed',
  is_revision: 'Revises an earlier quote',
  first_seen_at: 'First stored by the mirror',
  stored_at: 'File stored by the mirror',
  origin: 'Kind',
  due_stage: 'Needed for',
  gone_at: 'No longer shown by the service since',
}

export function labelOf(column: string): string {
  return LABELS[column] ?? headOf(column.replace(/_cents$/, ''))
}

/** A value as people read it: amounts in dollars, times in UTC, lists with commas, names of the service as words. */
export function valueText(column: string, value: Json | undefined): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map((each) => valueText(column, each)).join(', ')
  if (typeof value === 'number' && column.endsWith('_cents'))
    return (value / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' })
  if (typeof value !== 'string') return JSON.stringify(value)
  if (parseTime(value) === value) return moment(value)
  return /^[a-z]+(_[a-z\d]+)+$/.test(value) ? value.replaceAll('_', ' ') : value
}
