import type { PushItem } from './delivery.ts'

/** What everybody knows who sees the note: whose it is, and which submission it is about. */
const LEFT_OUT = new Set(['account', 'submission_id'])

/**
 * Tells a change in plain text, for systems that take notes: what it is, each column that has a value, and in the last line our id, by
 * which a person finds it again. The same for each try.
 * @param maxLength of all but the last line; what is longer is cut, and says so.
 */
export function noteText({ submissionId, entity, operation, direction, after, messageId }: PushItem, maxLength: number): string {
  const told = direction === null ? '' : `, ${direction} by the agency`
  const columns = Object.entries(after ?? {}).filter(([name, value]) => value !== null && !LEFT_OUT.has(name))
  const lines = columns.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const text = [`Submission ${submissionId}: ${entity} ${operation}${told}`, ...lines].join('\n')
  return `${text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}… (cut)` : text}\nsubmission-mirror ${messageId}`
}
