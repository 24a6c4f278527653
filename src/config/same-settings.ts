import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { isDeepStrictEqual, promisify } from 'node:util'
import { Secret } from '../base/secret.ts'

/** True if two parts of the settings are equal, including their secrets. */
export function sameSettings(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(revealed(a), revealed(b))
}

/** @returns a hash of a part of the settings, including its secrets. Don't store or show this hash. */
export function settingsDigest(part: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(revealed(part)))
    .digest('hex')
}

const derive = promisify<string, string, number, Buffer>(scrypt)
const KEY_BYTES = 32

/** @returns a slow, salted hash of a part of the settings. The hash can be stored, and `hasFingerprint` compares it. */
export async function settingsFingerprint(part: unknown, salt = randomBytes(16).toString('hex')): Promise<string> {
  return `${salt}:${(await derive(settingsDigest(part), salt, KEY_BYTES)).toString('hex')}`
}

export async function hasFingerprint(part: unknown, fingerprint: string): Promise<boolean> {
  const [salt = ''] = fingerprint.split(':')
  const [own, other] = [Buffer.from(await settingsFingerprint(part, salt)), Buffer.from(fingerprint)]
  return own.length === other.length && timingSafeEqual(own, other)
}

function revealed(value: unknown): unknown {
  if (value instanceof Secret) return { secret: value.reveal() }
  if (Array.isArray(value)) return value.map(revealed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revealed(item)]))
}
