import { withoutSecrets } from '../base/secret.ts'
import { entityNamed } from './entities.ts'
import type { Field, ProtectionClass, Row } from './entity.ts'
import type { Json } from './json.ts'

/** Replaces a value that is only shown on request, row by row. */
export const MASK = '••••'

const MASKED: readonly ProtectionClass[] = ['personal', 'free', 'document', 'tax id']

/** Whether values of a column are masked until a user asks for them. */
export function isMasked(field: Pick<Field, 'kind' | 'class' | 'shown'>): boolean {
  return field.kind === 'raw' || (field.shown !== true && MASKED.includes(field.class))
}

/**
 * @param row some or all columns of a row. @returns the row with personal values masked; null stays null. All columns of an unknown table
 * are masked.
 */
export function maskedRow(table: string, row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, maskedValue(table, column, value)]))
}

/** A column's value as `maskedRow` shows it. */
export function maskedValue(table: string, column: string, value: Json): Json {
  const field = entityNamed(table)?.fields[column]
  return value === null || (field !== undefined && !isMasked(field)) ? value : MASK
}

/** A shorter value may occur in a text by chance. */
const TELLING_LENGTH = 4
/** E-mail addresses, social security numbers and FEINs. */
const PERSONAL = /(?<![\w./])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w-])(?:\d{3}-\d{2}-\d{4}|\d{2}-\d{7})(?![\w-])/g

/**
 * @param text foreign text, such as an AMS answer that repeats what it was sent. @param values to mask; see `maskedValues`.
 * @returns the text without these values and anything written like an e-mail address or a tax id.
 */
export function maskedText(text: string, values: readonly string[] = []): string {
  const telling = values.filter((value) => value.length >= TELLING_LENGTH)
  return withoutSecrets(text, telling, MASK).replace(PERSONAL, MASK)
}

/** The part of an attempt's description before the quoted answer: up to the brackets or the status. */
const BEFORE_ANSWER = /^(?:[^("]*?\banswered \d{3}\b|[^(]*?(?= \())/

/**
 * @param text result of a delivery attempt. @param status of the last answer; null if none, or from an earlier step.
 * @returns the text with the answer and everything after it masked, because answers may repeat sent data.
 */
export function withoutAnswer(text: string, status: number | null): string {
  if (status === null && !/\banswered\b/.test(text)) return text
  const [before = text] = BEFORE_ANSWER.exec(text) ?? []
  return before.length === text.length ? text : `${before} ${MASK}`
}

/** `withoutAnswer` with personal values masked too, for logs and for readers who may not see them. */
export function shownOutcome(error: string, status: number | null): string {
  return maskedText(withoutAnswer(error, status))
}

/** @returns every text in the masked columns of a row, except `raw`, which repeats the others. */
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
