import type { Json } from '../../model/json.ts'
import { surveyJson, withNumbersAsText } from './json-survey.ts'

/** An answer's body, as far as it was read. */
export interface AnswerBody {
  readonly text: string
  /** Incomplete bodies aren't parsed. */
  readonly isWhole: boolean
}

/** Maximum nesting: writing a value as JSON takes stack per level. */
export const MAX_LEVELS = 500
/** Maximum values. 4 MiB of text can contain over a million empty objects, which need more memory than a child process has. */
export const MAX_VALUES = 250_000

/**
 * @returns the `body` for expressions about an answer: the parsed value if the text is JSON, else the text. Integers that a double would
 * round become text. @throws Error if the JSON is nested too deeply or has too many values.
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
