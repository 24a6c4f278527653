import { withoutSecrets } from '../../base/secret.ts'
import { isObject } from '../../model/json.ts'

/** Codes of errors whose message the expression's author wrote: `$error("…")` and `$assert(…, "…")`. */
const AUTHOR_CODES = new Set(['D3137', 'D3141'])

/**
 * Describes an expression's problem for the operator. JSONata puts values into its messages. The values are submission
 * data, so they are removed.
 * @param error from `jsonata`: an Error when compiling, any object when evaluating.
 */
export function problemOf(error: unknown): string {
  if (!isObject(error)) return 'no reason given'
  const code = String(error['code'] ?? '')
  const message =
    typeof error['message'] === 'string' && error['message'] !== '' ? error['message'] : `no reason given (${code || 'no code'})`
  const sentence = AUTHOR_CODES.has(code) ? message : withoutSecrets(message, [error['value'], error['value2']].flatMap(shown), '…')
  const place = typeof error['position'] === 'number' ? ` (at character ${error['position']})` : ''
  return `${sentence}${AUTHOR_CODES.has(code) ? '' : place}`
}

/** @returns the texts that a value can have inside a message. */
function shown(value: unknown): string[] {
  return value === undefined ? [] : [shownBy(JSON.stringify, value), shownBy(String, value)]
}

/** @returns the value as text; empty if the conversion fails. JSONata can't put such a value into a message either. */
function shownBy(show: (value: unknown) => string | undefined, value: unknown): string {
  try {
    return show(value) ?? ''
  } catch {
    return ''
  }
}
