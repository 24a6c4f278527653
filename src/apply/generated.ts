/** Keys of a requirements view whose values differ at every read. */
export const GENERATED: ReadonlySet<string> = new Set(['generated_at', 'evaluated_at'])

const IN_TEXT = valuesUnder([...GENERATED])

/** Matches the values under `keys` in JSON text. Quotes inside JSON texts are escaped, so the pattern never matches within a text. */
export function valuesUnder(keys: readonly string[]): RegExp {
  return new RegExp(`"(?:${keys.join('|')})":(?:"[^"\\\\]*"|null)`, 'g')
}

/** @returns JSON text without the values that differ at every read. */
export function withoutGenerated(json: string): string {
  return json.replace(IN_TEXT, '')
}
