import { isObject } from '../../model/json.ts'

/** What the author of an expression said on purpose: `$error("…")` and `$assert(…, "…")`. */
const SAID_BY_AUTHOR = new Set(['D3137', 'D3141'])

/**
 * What is wrong with an expression, in words for the operator. JSONata puts the values it stumbled over into its messages; those
 * are data of a submission and stay out (invariant 12).
 * @param error what `jsonata` threw: an Error when it compiles, any object when it evaluates.
 */
export function problemOf(error: unknown): string {
  if (!isObject(error)) return 'it failed'
  const code = String(error['code'] ?? '')
  const message = typeof error['message'] === 'string' && error['message'] !== '' ? error['message'] : `it failed (${code || 'no reason'})`
  const told = SAID_BY_AUTHOR.has(code) ? message : without(message, [error['value'], error['value2']])
  const place = typeof error['position'] === 'number' ? ` (at character ${error['position']})` : ''
  return `${told}${SAID_BY_AUTHOR.has(code) ? '' : place}`
}

function without(message: string, values: readonly unknown[]): string {
  return values.reduce<string>((text, value) => {
    if (value === undefined) return text
    const shown = [shownBy(JSON.stringify, value), shownBy(String, value)].filter((part) => part !== '')
    return shown.reduce((left, part) => left.replaceAll(part, '…'), text)
  }, message)
}

/** What cannot be shown, such as what holds itself or nests too deep, is in no message either. */
function shownBy(show: (value: unknown) => string | undefined, value: unknown): string {
  try {
    return show(value) ?? ''
  } catch {
    return ''
  }
}
