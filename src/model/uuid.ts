const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** @returns the id in lower case when `value` is a uuid, else null (trap 78: nothing else enters a URL or a key). */
export function parseUuid(value: unknown): string | null {
  if (typeof value !== 'string') return null
  const id = value.trim().toLowerCase()
  return UUID.test(id) ? id : null
}
