import type { PushItem } from '../contract/delivery.ts'

/** What everybody knows who sees the note: whose it is, and which submission it is about. */
const LEFT_OUT = new Set(['account', 'submission_id'])

/**
 * Tells a change in plain text, for systems that take notes: what it is, each column that has a value, and in the last line our id, by
 * which a person finds it again. The same for each try.
 * @param maxLength of all but the last line; what is longer is cut, and says so.
 */
export function noteText(item: PushItem, maxLength: number): string {
  const { submissionId, entity, operation, direction, after, messageId } = item
  const told = direction === null ? '' : `, ${direction} by the agency`
  const columns = Object.entries(after ?? {}).filter(([name, value]) => value !== null && !LEFT_OUT.has(name))
  // The service's own word for the direction says the opposite of ours.
  const said = direction === null ? columns : columns.filter(([name]) => name !== 'direction')
  const lines = said.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const text = [`Submission ${submissionId}: ${entity} ${operation}${recordOf(item)}${told}`, ...lines].join('\n')
  return `${text.length > maxLength ? `${whole(text.slice(0, maxLength))}… (cut)` : text}\nsubmission-mirror ${messageId}`
}

/** @returns midnight, in UTC, of the day of a change: of an event, when it happened. For systems whose notes have no time of day. */
export function dayOf({ after, changedAt }: PushItem): string {
  return `${String(after?.['occurred_at'] ?? changedAt).slice(0, 10)}T00:00:00`
}

/** Which record of the submission a change is about, where its columns do not say so. */
function recordOf({ operation, entityId, submissionId }: PushItem): string {
  if (operation === 'insert') return ''
  const steps = (JSON.parse(entityId) as readonly unknown[]).filter((step) => step !== submissionId)
  return steps.length === 0 ? '' : ` of ${steps.join(' ')}`
}

/** Without the half of a character at its end. */
function whole(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '').toWellFormed()
}
