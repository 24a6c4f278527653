import type { Json } from '../../model/json.ts'
import { surveyJson, withNumbersAsText } from './json-survey.ts'

/** The body of an answer, as far as it came. */
export interface AnswerBody {
  readonly text: string
  /** Of what is not whole nothing is parsed. */
  readonly isWhole: boolean
}

/** Deeper values cannot be handed from thread to thread, or written as JSON, for both take a part of the stack for each level. */
export const MAX_LEVELS = 500
/** More would take more memory than a thread has: text of four MiB can hold more than a million of empty objects. */
const MAX_VALUES = 250_000

/**
 * @returns what the expressions about an answer see as `body`: its value where it is JSON, else its text. A whole number that a double
 * may round, as a long id, is the text of its digits.
 * @throws Error when it nests too deep, or holds too much.
 */
export function bodyValue({ text, isWhole }: AnswerBody): Json {
  if (!isWhole) return text
  // Some servers put a byte order mark before their JSON.
  const json = text.startsWith('\ufeff') ? text.slice(1) : text
  const { levels, values, longNumbers } = surveyJson(json)
  if (/^\s*[[{]/.test(json)) {
    if (levels > MAX_LEVELS) throw new Error(`its answer nests deeper than ${MAX_LEVELS} levels`)
    if (values > MAX_VALUES) throw new Error(`its answer holds more than ${MAX_VALUES} values`)
  }
  try {
    return JSON.parse(withNumbersAsText(json, longNumbers)) as Json
  } catch {
    return text
  }
}
