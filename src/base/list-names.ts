/**
 * @returns what may be named in place of what is not there: `there is acme`, `there are acme, beta`, or `there is` and what `none` says.
 */
export function listNames(names: readonly string[], none = 'none'): string {
  return names.length > 1 ? `there are ${names.join(', ')}` : `there is ${names[0] ?? none}`
}
