import type { PushItem } from '../contract/delivery.ts'

/** Columns that the first line of the note says already. */
const LEFT_OUT = new Set(['account', 'submission_id'])

/**
 * Describes a change as plain text, for systems that take notes: what changed, each column with a value, and in the last line our id, by
 * which a person finds the note. The same on every attempt.
 * @param maxLength of all but the last line. Longer text is cut and marked.
 */
export function noteText(item: PushItem, maxLength: number): string {
  const { submissionId, entity, operation, direction, after, messageId, leftFilter } = item
  const told = direction === null ? '' : `, ${direction} by the agency`
  const columns = Object.entries(after ?? {}).filter(([name, value]) => value !== null && !LEFT_OUT.has(name))
  // The service's word for the direction is the opposite of ours.
  const shown = direction === null ? columns : columns.filter(([name]) => name !== 'direction')
  const lines = shown.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const left = leftFilter ? ['No longer of concern here.'] : []
  const text = [`Submission ${submissionId}: ${entity} ${operation}${recordOf(item)}${told}`, ...left, ...lines].join('\n')
  return `${text.length > maxLength ? `${whole(text.slice(0, maxLength))}… (cut)` : text}\nsubmission-mirror ${messageId}`
}

/** @returns midnight (UTC) of the day of a change, or of the day when an event happened. For systems whose notes have a date only. */
export function dayOf({ after, changedAt }: PushItem): string {
  return `${String(after?.['occurred_at'] ?? changedAt).slice(0, 10)}T00:00:00`
}

/** The record of the submission that changed, when the columns do not say so. */
function recordOf({ operation, entityId, submissionId }: PushItem): string {
  if (operation === 'insert') return ''
  const steps = (JSON.parse(entityId) as readonly unknown[]).filter((step) => step !== submissionId)
  return steps.length === 0 ? '' : ` of ${steps.join(' ')}`
}

/** Removes half a character at the end. */
function whole(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '').toWellFormed()
}
