/** JSON keys of a requirements view whose values differ at every read. */
export const GENERATED: ReadonlySet<string> = new Set(['generated_at', 'evaluated_at'])

const IN_TEXT = valuesUnder([...GENERATED])

/**
 * @returns a pattern that matches `keys` with their values in JSON text. The pattern never matches inside a string,
 * because quotes there are escaped.
 */
export function valuesUnder(keys: readonly string[]): RegExp {
  return new RegExp(`"(?:${keys.join('|')})":(?:"[^"\\\\]*"|null)`, 'g')
}

/** @returns JSON text without the keys whose values differ at every read. */
export function withoutGenerated(json: string): string {
  return json.replace(IN_TEXT, '')
}
