import type { HeaderValues } from '../upstream/webhook/signature.ts'

/** @returns the headers kept with a body: enough to verify the delivery again and to know how its body is encoded. */
export function storedHeaders(verified: Readonly<Record<string, string>>, headers: HeaderValues): Record<string, string> {
  const stored: Record<string, string> = { ...verified }
  for (const name of ['content-type', 'content-encoding']) {
    const value = headers[name]
    if (typeof value === 'string') stored[name] = value
  }
  return stored
}
