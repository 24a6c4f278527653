import { isObject } from '../../model/json.ts'

/** A change as text for people. */
export interface Note {
  /** One line. */
  readonly title: string
  /** The content, then lines with the time, the submission, and the message id. */
  readonly body: string
  /** Time of the event or change, in UTC, with seconds. */
  readonly at: string
}

/**
 * Columns that the note shows elsewhere, or that people don't need. `direction` is the service's view, which is the
 * opposite of the brokerage's view.
 */
const LEFT_OUT = new Set(['account', 'submission_id', 'direction', 'raw'])

/**
 * The template function `$note(change, most)`. Every attempt makes the same text.
 * @param change a change, as templates get it: `$$`, or an item of a batch.
 * @param most limit in characters, for the title and for the details in the body. The last lines of the body (`At`,
 * `Submission`, and `Reference`) are never cut. Longer text is cut and marked.
 * @throws Error if `change` isn't an object with a `message_id`.
 */
export function noteOf(change: unknown, most: unknown = 4_000): Note {
  if (!isObject(change) || typeof change['message_id'] !== 'string') throw new Error('$note needs a change; write $note($$)')
  const { entity, operation, after, changed_at: changedAt, submission_id: submission, message_id: id } = change
  const columns = isObject(after) ? after : {}
  const at = `${String(columns['occurred_at'] ?? changedAt).slice(0, 19)}Z`
  const isInsert = operation === 'insert'
  const { title, lines } =
    isInsert && entity === 'thread_messages'
      ? messageText(change, columns)
      : isInsert && entity === 'market_events'
        ? eventText(columns)
        : { title: titleOf(change), lines: columnLines(columns) }
  const text = lines.filter((line) => typeof line === 'string' && line !== '').join('\n')
  const body = [...(text === '' ? [] : [cut(text, Number(most))]), `At: ${at}`, `Submission: ${submission}`, `Reference: ${id}`].join('\n')
  return { title: cut(title.replace(/\s+/g, ' ').trim(), Number(most)), body, at }
}

function titleOf({ entity, operation, left_filter: isLeaving }: Readonly<Record<string, unknown>>): string {
  if (isLeaving === true) return `No longer matches the filter: ${words(entity)}`
  return operation === 'update' ? `Changed: ${words(entity)}` : `${words(entity)} (${operation})`
}

type Columns = Readonly<Record<string, unknown>>
type Text = { readonly title: string; readonly lines: readonly unknown[] }

function messageText({ direction, echo }: { direction?: unknown; echo?: unknown }, { subject, channel, body_text: body }: Columns): Text {
  const title = `${direction === 'sent' ? 'Sent to' : 'Received from'} the submission service${subject ? `: ${subject}` : ''}`
  return { title, lines: [channel && `Channel: ${channel}`, echo === true && 'Written by the brokerage itself.', body] }
}

function eventText(columns: Columns): Text {
  const { type, market_name: market, market_lines: lines, category, status_label: label, status, detail } = columns
  const about = Array.isArray(lines) && lines.length > 0 && `Lines: ${lines.join(', ')}`
  const state = label ?? status
  return {
    title: `${words(type)}${market ? `: ${market}` : ''}`,
    lines: [about, category && `Category: ${category}`, state && `Status: ${state}`, detail],
  }
}

function columnLines(columns: Columns): string[] {
  const shown = Object.entries(columns).filter(([name, value]) => value !== null && !LEFT_OUT.has(name))
  return shown.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
}

/** @returns a name in words: `quote_received` becomes "Quote received". */
function words(name: unknown): string {
  const text = String(name).replaceAll('_', ' ')
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}

/** Cuts a long text and marks the cut. Never splits a surrogate pair. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).replace(/[\ud800-\udbff]$/, '')}… (cut)`
}
