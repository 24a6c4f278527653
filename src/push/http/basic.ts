/** @returns the value of an `authorization` header for HTTP Basic; as nearly every server expects it, nothing is escaped. */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`
}
