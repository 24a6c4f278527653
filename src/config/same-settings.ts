import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { Secret } from '../base/secret.ts'

/** @returns whether two parts of the settings are equal. Compares the values of secrets, whose printed forms are all alike. */
export function sameSettings(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(revealed(a), revealed(b))
}

/** @returns a hash of a part of the settings that depends on the values of its secrets. Not to be stored or shown. */
export function settingsDigest(part: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(revealed(part)))
    .digest('hex')
}

function revealed(value: unknown): unknown {
  if (value instanceof Secret) return { secret: value.reveal() }
  if (Array.isArray(value)) return value.map(revealed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revealed(item)]))
}
