import type { Json } from '../../model/json.ts'
import { surveyJson, withNumbersAsText } from './json-survey.ts'

/** The part of an answer's body that was read. */
export interface AnswerBody {
  readonly text: string
  /** False if the body was cut. An incomplete body isn't parsed. */
  readonly isWhole: boolean
}

/** Maximum nesting of JSON. Writing a value as JSON takes stack space for each level. */
export const MAX_LEVELS = 500
/**
 * Maximum number of JSON values. 4 MiB of text can have over a million empty objects, too many for the memory
 * of a child process.
 */
export const MAX_VALUES = 250_000

/**
 * @returns the `body` that expressions about an answer see. JSON is parsed; other text stays text. Integers that a
 * double would round become text.
 * @throws Error if the JSON is nested too deep or has too many values.
 */
export function bodyValue({ text, isWhole }: AnswerBody): Json {
  if (!isWhole) return text
  // Some servers send a byte order mark before the JSON.
  const json = text.startsWith('\ufeff') ? text.slice(1) : text
  const { levels, values, longNumbers } = surveyJson(json)
  if (/^\s*[[{]/.test(json)) {
    if (levels > MAX_LEVELS) throw new Error(`the answer is nested deeper than ${MAX_LEVELS} levels`)
    if (values > MAX_VALUES) throw new Error(`the answer contains more than ${MAX_VALUES} values`)
  }
  try {
    return JSON.parse(withNumbersAsText(json, longNumbers)) as Json
  } catch {
    return text
  }
}
