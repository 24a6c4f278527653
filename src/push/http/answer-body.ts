import type { Json } from '../../model/json.ts'
import { surveyJson, withNumbersAsText } from './json-survey.ts'

/** The body of an answer, as far as it was read. */
export interface AnswerBody {
  readonly text: string
  /** An incomplete body is not parsed. */
  readonly isWhole: boolean
}

/** Deepest nesting: writing a value as JSON takes stack for each level. */
export const MAX_LEVELS = 500
/** Most values: 4 MiB of text can hold more than a million empty objects, which take more memory than an evaluating process has. */
export const MAX_VALUES = 250_000

/**
 * @returns the `body` that expressions about an answer see: its value if it is JSON, else its text. An integer that a double would round
 * becomes its digits as text. @throws Error if it is nested too deeply, or has too many values.
 */
export function bodyValue({ text, isWhole }: AnswerBody): Json {
  if (!isWhole) return text
  // Some servers write a byte order mark before their JSON.
  const json = text.startsWith('\ufeff') ? text.slice(1) : text
  const { levels, values, longNumbers } = surveyJson(json)
  if (/^\s*[[{]/.test(json)) {
    if (levels > MAX_LEVELS) throw new Error(`its answer is nested deeper than ${MAX_LEVELS} levels`)
    if (values > MAX_VALUES) throw new Error(`its answer holds more than ${MAX_VALUES} values`)
  }
  try {
    return JSON.parse(withNumbersAsText(json, longNumbers)) as Json
  } catch {
    return text
  }
}
