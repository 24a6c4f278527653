/** Keys in the JSON of a requirements view. Their values differ at every read. */
export const GENERATED: ReadonlySet<string> = new Set(['generated_at', 'evaluated_at'])

const IN_TEXT = valuesUnder([...GENERATED])

/**
 * @returns a pattern that matches each of `keys` with its value in JSON text. The value must be null, or a string
 * without backslashes and quotes. The pattern never matches inside a string, because quotes there are escaped.
 */
export function valuesUnder(keys: readonly string[]): RegExp {
  return new RegExp(`"(?:${keys.join('|')})":(?:"[^"\\\\]*"|null)`, 'g')
}

/**
 * @returns the text without the keys in `GENERATED` and their values. Use the result only for comparing: the commas
 * stay, so the result is not valid JSON.
 */
export function withoutGenerated(json: string): string {
  return json.replace(IN_TEXT, '')
}
