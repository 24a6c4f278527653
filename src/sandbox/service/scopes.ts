export const scopes = ['broker_mcp', 'broker_submit'] as const
/** `broker_mcp` allows reads. `broker_submit` allows reads and writes. */
export type Scope = (typeof scopes)[number]

/**
 * @param text scopes separated by spaces.
 * @returns the scopes; null if the text contains an unknown scope.
 */
export function parseScopes(text: string): Scope[] | null {
  const named = text.split(' ').filter((scope) => scope !== '')
  if (named.some((name) => !scopes.some((scope) => scope === name))) return null
  return scopes.filter((scope) => named.includes(scope))
}
