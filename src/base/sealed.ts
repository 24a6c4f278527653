/*
 * Encrypted values look like `enc:<key id>:<base64>`. The base64 begins with a keyed hash of the value and its place, then a random nonce,
 * so equal values are recognized without a key (see `isSameText`).
 */

/** A multiple of 3, so that the base64 text begins with the hash's base64. */
export const HASH_BYTES = 15
const HASH_CHARS = (HASH_BYTES / 3) * 4

const SEALED = /^enc:([a-z0-9][a-z0-9_-]{0,31}):([A-Za-z0-9+/]{59,}={0,2})$/
const SEALED_WITHIN = new RegExp(`(enc:[a-z0-9][a-z0-9_-]{0,31}:[A-Za-z0-9+/]{${HASH_CHARS}})[A-Za-z0-9+/]{39,}={0,2}`, 'g')

/** @returns the key's id and the base64 of an encrypted value; null for any other text. */
export function sealedParts(text: string): { readonly keyId: string; readonly base64: string } | null {
  if (!text.startsWith('enc:')) return null
  const [, keyId, base64] = SEALED.exec(text) ?? []
  return keyId === undefined || base64 === undefined ? null : { keyId, base64 }
}

/** Whether texts are equal, or encrypt the same value of the same row and column. */
export function isSameText(a: string, b: string): boolean {
  return a === b || (a.startsWith('enc:') && b.startsWith('enc:') && comparableText(a) === comparableText(b))
}

/** @returns the text with each encrypted value cut to its key id and hash, which equal values share. */
export function comparableText(text: string): string {
  return text.includes('enc:') ? text.replace(SEALED_WITHIN, '$1') : text
}
