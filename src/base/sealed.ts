/*
 * Encrypted values have the form `enc:<key id>:<base64>`. The base64 text starts with a keyed hash of the value, its
 * row, and its column. A random nonce, an authentication tag, and the encrypted text follow.
 * Equal values of the same row and column have equal hashes. `isSameText` compares the hashes and needs no key.
 */

/** Length of the hash in an encrypted value. A multiple of 3, so that the hash fills whole base64 characters. */
export const HASH_BYTES = 15
const HASH_CHARS = (HASH_BYTES / 3) * 4

const SEALED = /^enc:([a-z0-9][a-z0-9_-]{0,31}):([A-Za-z0-9+/]{59,}={0,2})$/
const SEALED_WITHIN = new RegExp(`(enc:[a-z0-9][a-z0-9_-]{0,31}:[A-Za-z0-9+/]{${HASH_CHARS}})[A-Za-z0-9+/]{39,}={0,2}`, 'g')

/** @returns the key id and the base64 text of an encrypted value; null for any other text. */
export function sealedParts(text: string): { readonly keyId: string; readonly base64: string } | null {
  if (!text.startsWith('enc:')) return null
  const [, keyId, base64] = SEALED.exec(text) ?? []
  return keyId === undefined || base64 === undefined ? null : { keyId, base64 }
}

/** True if the texts are equal, or if both encrypt the same value of the same row and column with the same key. */
export function isSameText(a: string, b: string): boolean {
  return a === b || (a.startsWith('enc:') && b.startsWith('enc:') && comparableText(a) === comparableText(b))
}

/**
 * @returns the text with each encrypted value cut to its key id and hash. If the same key encrypts the same value of a
 * row and column twice, the cut values are equal.
 */
export function comparableText(text: string): string {
  return text.includes('enc:') ? text.replace(SEALED_WITHIN, '$1') : text
}
