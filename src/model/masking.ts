import { withoutSecrets } from '../base/secret.ts'
import { entityNamed } from './entities.ts'
import type { Field, ProtectionClass, Row } from './entity.ts'
import type { Json } from './json.ts'

/** Shown instead of a personal value. Users reveal the values of one row at a time. */
export const MASK = '••••'

const MASKED: readonly ProtectionClass[] = ['personal', 'free', 'document', 'tax id']

/** True if a column's values are masked until a user asks for them. */
export function isMasked(field: Pick<Field, 'kind' | 'class' | 'shown'>): boolean {
  return field.kind === 'raw' || (field.shown !== true && MASKED.includes(field.class))
}

/**
 * @param row some or all columns of a row. In an unknown table, all columns are masked.
 * @returns the row with personal values masked; null stays null.
 */
export function maskedRow(table: string, row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, maskedValue(table, column, value)]))
}

/** @returns a column's value as `maskedRow` shows it. */
export function maskedValue(table: string, column: string, value: Json): Json {
  const field = entityNamed(table)?.fields[column]
  return value === null || (field !== undefined && !isMasked(field)) ? value : MASK
}

/** Shortest value that `maskedText` masks. A shorter value may occur in a text by chance. */
const TELLING_LENGTH = 4
/** Matches e-mail addresses, social security numbers, and FEINs. */
const PERSONAL = /(?<![\w./])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w-])(?:\d{3}-\d{2}-\d{4}|\d{2}-\d{7})(?![\w-])/g

/**
 * @param text such as the answer of an AMS, which may repeat sent data.
 * @param values values to mask; see `maskedValues`.
 * @returns the text with these values, e-mail addresses, and tax ids masked.
 */
export function maskedText(text: string, values: readonly string[] = []): string {
  const telling = values.filter((value) => value.length >= TELLING_LENGTH)
  return withoutSecrets(text, telling, MASK).replace(PERSONAL, MASK)
}

/**
 * Matches the start of the text about a push attempt, before the quoted answer. The match ends after `answered` and the
 * status, or before the first parenthesis.
 */
const BEFORE_ANSWER = /^(?:[^("]*?\banswered \d{3}\b|[^(]*?(?= \())/

/**
 * Masks the quoted answer in the text about a push attempt, because answers may repeat sent data.
 * @param status status of the last answer; null if there was no answer, or only an answer to an earlier step
 * of the attempt.
 * @returns the text with the answer, and everything after it, masked.
 */
export function withoutAnswer(text: string, status: number | null): string {
  if (status === null && !/\banswered\b/.test(text)) return text
  const [before = text] = BEFORE_ANSWER.exec(text) ?? []
  return before.length === text.length ? text : `${before} ${MASK}`
}

/** `withoutAnswer`, with personal values masked too. For logs, and for readers who may not see these values. */
export function shownOutcome(error: string, status: number | null): string {
  return maskedText(withoutAnswer(error, status))
}

/** @returns all texts in the masked columns of a row, except in `raw`. */
export function maskedValues(table: string, row: Row): string[] {
  const fields = entityNamed(table)?.fields ?? {}
  return Object.entries(row).flatMap(([column, value]) => {
    const field = fields[column]
    return field !== undefined && field.kind !== 'raw' && isMasked(field) ? textsIn(value) : []
  })
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
