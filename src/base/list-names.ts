/**
 * @returns a list of valid names for an error message: `there is acme`, `there are acme, beta`, or `there is none`.
 * @param none text for an empty list.
 */
export function listNames(names: readonly string[], none = 'none'): string {
  return names.length > 1 ? `there are ${names.join(', ')}` : `there is ${names[0] ?? none}`
}
