import type { HeaderValues } from '../upstream/webhook/signature.ts'

/** @returns with the body: all that is needed to verify a stored delivery once more, and to know how to read it. */
export function storedHeaders(verified: Readonly<Record<string, string>>, headers: HeaderValues): Record<string, string> {
  const stored: Record<string, string> = { ...verified }
  for (const name of ['content-type', 'content-encoding']) {
    const value = headers[name]
    if (typeof value === 'string') stored[name] = value
  }
  return stored
}
