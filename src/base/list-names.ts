/**
 * @returns a list of valid names for an error message: `known: acme, beta`, or `known: none`.
 * @param none text for an empty list.
 */
export function listNames(names: readonly string[], none = 'none'): string {
  return `known: ${names.length === 0 ? none : names.join(', ')}`
}
