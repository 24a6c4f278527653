const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** @returns the id in lower case; null if `value` isn't a UUID. No other text may be used in a URL or key (trap 78). */
export function parseUuid(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value.trim().toLowerCase()
  return UUID.test(id) ? id : null
}
