import { entityNamed } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Cell, Fact } from '../../reconcile/report/document.ts'
import { moment } from '../../reconcile/report/words.ts'
import type { LoggedChange } from '../../store/changes/reader.ts'
import { headOf, wordOf } from '../output/words.ts'
import { cellOf, labelOf, type RecordData, rowsOf, SECTIONS, textOf } from './sections.ts'

export interface Entry {
  readonly at: TimeText
  readonly title: string
  readonly facts: readonly Fact[]
  readonly source: Cell
  /** True if the event or message was fetched because no delivery had arrived. */
  readonly isUndelivered?: boolean
}

/** New rows count as the first copy of a submission until this many ms after tracking began. */
const FIRST_COPY_MS = 60_000

/** Columns with a name for the title of an entry. */
const NAMES = ['label', 'policy_number', 'name', 'display_name']

/**
 * @returns a submission's events, messages, and changes, oldest first.
 * Omits changes from the first read of the submission, except new bind requests with `requested_at`.
 * Omits changes of the table `lanes`, because events show them.
 */
export function entriesOf(r: RecordData): Entry[] {
  const firstCopyEnd = timeFromMs(msFromTime(rowsOf(r, 'submissions')[0]?.['tracked_at'] as TimeText) + FIRST_COPY_MS)
  const entries = [
    ...rowsOf(r, 'market_events').map((row) => {
      const what = row['type'] === 'market_attached' ? 'market added to the submission' : wordOf(String(row['type']))
      return recordEntry(r, row, `${row['market_name'] ?? 'Unnamed market'}: ${what}`, 'status_label detail')
    }),
    ...rowsOf(r, 'thread_messages').map((row) => recordEntry(r, row, messageTitle(row), 'from_address to_addresses body_text')),
    ...r.changes.flatMap((change) => changeEntry(r, change, firstCopyEnd) ?? []),
  ]
  return entries.sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? -1 : 1))
}

function messageTitle({ channel, direction, subject }: Row): string {
  const kind = channel === 'chat' ? "Message in the service's chat" : headOf(String(channel))
  return `${kind} from the ${direction === 'outbound' ? 'service' : 'brokerage'}${subject ? `: ${subject}` : ''}`
}

function recordEntry(r: RecordData, row: Row, title: string, columns: string): Entry {
  const id = row['event_id'] ?? row['message_id']
  const delivery = r.deliveries.get(String(id))
  const [stored, via] = [textOf(r, row, 'first_seen_at'), row['first_seen_via']]
  const history = `the service's history, fetched ${stored}. No signed delivery is held.`
  const factOf = (of: Row, column: string) => ({ name: labelOf(column), value: cellOf(r, of, column) })
  const shown = `${columns} gone_at ${delivery ? 'first_seen_at' : ''}`.split(' ').filter((column) => textOf(r, row, column) !== '')
  const files = rowsOf(r, 'thread_attachments').filter(({ message_id }) => message_id === id)
  return {
    at: row['occurred_at'] as TimeText,
    title,
    facts: [...shown.map((column) => factOf(row, column)), ...files.map((file) => ({ ...factOf(file, 'name'), name: 'Attachment' }))],
    source: delivery ?? (via === 'webhook' ? `a signed delivery, stored ${stored}, that is no longer held.` : history),
    isUndelivered: delivery === undefined && via !== 'webhook' && via !== 'backfill',
  }
}

/** @returns the entry of a change; null if the chronology omits the change, such as a row of the first copy. */
function changeEntry(r: RecordData, change: LoggedChange, firstCopyEnd: string): Entry | null {
  const { changed_at, operation, entity, entity_id } = change
  const [, heading, columns] = SECTIONS.find(([table]) => table === entity && table !== 'lanes') ?? []
  const [before, after] = [change.before, change.after].map((part) => (part ?? {}) as Row) as [Row, Row]
  const key = entityNamed(entity)?.key.slice(1) ?? []
  const row = rowsOf(r, entity).find((each) => JSON.stringify(key.map((column) => each[column])) === entity_id) ?? after
  const isNew = operation !== 'gone' && Object.values(before).every((value) => value === null)
  // For a new bind request, show `requested_at`. Drafts also have this time, so the title doesn't say "requested".
  const requested = operation === 'insert' ? after['requested_at'] : undefined
  // Omit attachments, because the entry of their message lists them.
  if (columns === undefined || row['origin'] === 'attachment' || (isNew && !requested && changed_at <= firstCopyEnd)) return null
  const facts = columns.split(' ').flatMap((column) => {
    if (NAMES.includes(column) || column.endsWith('_at')) return []
    const [was, is] = [before, after].map((part) => (column in part ? textOf(r, { ...row, ...part }, column) : ''))
    const name = `${labelOf(column)}${requested && column === 'status_label' ? ' when fetched, not at the time above' : ''}`
    return was === is ? [] : [{ name, value: { text: `${is || 'none'}${was && ` (before: ${was})`}` } }]
  })
  if (facts.length === 0 && operation !== 'gone') return null
  const names = [...NAMES.map((column) => row[column]), textOf(r, row, 'market_name')].filter(Boolean)
  const verb = requested
    ? 'time that the service gives'
    : operation === 'gone'
      ? 'no longer shown by the service'
      : isNew
        ? 'added'
        : 'changed'
  return {
    at: (requested ?? changed_at) as TimeText,
    title: `${[heading, names.join(', ')].filter(Boolean).join(': ')} (${verb})`,
    facts,
    source: `the service's current data, fetched ${moment(changed_at)}. The service does not sign it.`,
  }
}
