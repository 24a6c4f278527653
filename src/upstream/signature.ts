import { isUtf8 } from 'node:buffer'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook } from 'svix'
import type { Secret } from '../config.ts'

/** How far a delivery's timestamp may lie from the time of its arrival, either way. */
const TOLERANCE_S = 300
/** The id is a key in the database, which has no room for more; the ids of the known scheme have some 30 characters. */
const MAX_ID_LENGTH = 512
/** Far more than any sender has secrets at a time. */
const MAX_SIGNATURES = 16
const TIMESTAMP = /^\d{1,11}$/
const SCHEME = 'v1,'
const SECRET_PREFIX = 'whsec_'

/** Why a delivery is not trusted. `unknown_scheme`: no signature in the header is one that we can verify (trap 26). */
export type SignatureFault = 'missing_headers' | 'bad_timestamp' | 'stale_timestamp' | 'unknown_scheme' | 'wrong_signature'

/** Header names in lower case, as node gives them. */
export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

/** What a delivery's headers claim, before the claim is verified. */
export interface SignatureClaim {
  readonly deliveryId: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  /** Base64, without the scheme's name. */
  readonly signatures: readonly string[]
  /** The three headers that the claim was read from, under the names they came with. */
  readonly headers: Readonly<Record<string, string>>
}

export type CheckResult = { readonly ok: true; readonly claim: SignatureClaim } | { readonly ok: false; readonly reason: SignatureFault }

/** `secret`: position, from 1, of the secret that verified. */
export type VerifyResult =
  | { readonly ok: true; readonly deliveryId: string; readonly secret: number }
  | { readonly ok: false; readonly reason: SignatureFault }

/**
 * The cheap part of verifying, for which the body need not have arrived: one whole triple of headers (`svix-*`, else
 * `webhook-*`), a timestamp that is a whole number within 300 s of `atMs`, a signature of a scheme that we know.
 * @param atMs milliseconds since the epoch: now, or the time of arrival of a delivery that is verified again.
 */
export function checkHeaders(headers: HeaderValues, atMs: number): CheckResult {
  const found = findTriple(headers)
  if (found === null) return { ok: false, reason: 'missing_headers' }
  const [deliveryId, timestampText, signatureText] = found.values
  if (!TIMESTAMP.test(timestampText)) return { ok: false, reason: 'bad_timestamp' }
  const timestamp = Number(timestampText)
  if (Math.abs(Math.floor(atMs / 1000) - timestamp) > TOLERANCE_S) return { ok: false, reason: 'stale_timestamp' }
  const signatures = readSignatures(signatureText)
  if (signatures.length === 0) return { ok: false, reason: 'unknown_scheme' }
  return { ok: true, claim: { deliveryId, timestamp, signatures, headers: found.headers } }
}

/**
 * Verifies deliveries of one account: HMAC-SHA256 over the raw bytes of the body, with each of the account's secrets, so that
 * two can live at once while one replaces the other (trap 37).
 */
export class DeliveryVerifier {
  readonly #keys: readonly { readonly webhook: Webhook; readonly bytes: Buffer }[]

  /**
   * @param secrets `whsec_…` or bare base64, in the order of the settings, which see to their length.
   * @throws Error when one of them is empty or no base64.
   */
  constructor(secrets: readonly Secret[]) {
    this.#keys = secrets.map((secret) => {
      const text = secret.reveal()
      const base64 = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : text
      return { webhook: new Webhook(text), bytes: Buffer.from(base64, 'base64') }
    })
  }

  /** Verifies a claim that `checkHeaders` found whole. Costs some 30 µs for 2 KB and 1 ms for 100 KB, for each secret. */
  verify(claim: SignatureClaim, body: Buffer): VerifyResult {
    // The library signs text. In bytes that are no text it would see the same replacement character for different bytes.
    const text = isUtf8(body) ? body.toString() : null
    const signedAt = new Date(claim.timestamp * 1000)
    let position = 0
    for (const key of this.#keys) {
      position += 1
      // The library's `verify` knows only the real clock, and would refuse a delivery that is verified again later. Its `sign`
      // does the same work once per secret, however many signatures came.
      const expected = text === null ? signBytes(key.bytes, claim, body) : key.webhook.sign(claim.deliveryId, signedAt, text)
      if (isAmong(expected.slice(SCHEME.length), claim.signatures))
        return { ok: true, deliveryId: keyOf(claim.deliveryId), secret: position }
    }
    return { ok: false, reason: 'wrong_signature' }
  }

  /** Both parts, judged as of `atMs`: for a delivery that was refused and kept. */
  verifyAt(atMs: number, headers: HeaderValues, body: Buffer): VerifyResult {
    const checked = checkHeaders(headers, atMs)
    return checked.ok ? this.verify(checked.claim, body) : checked
  }
}

interface Triple {
  readonly values: readonly [id: string, timestamp: string, signature: string]
  readonly headers: Readonly<Record<string, string>>
}

/** Only a whole triple counts, so that the id that is verified is the one that the signature covers. */
function findTriple(headers: HeaderValues): Triple | null {
  const svix = wholeTriple(headers['svix-id'], headers['svix-timestamp'], headers['svix-signature'])
  if (svix !== null) {
    return { values: svix, headers: { 'svix-id': svix[0], 'svix-timestamp': svix[1], 'svix-signature': svix[2] } }
  }
  const webhook = wholeTriple(headers['webhook-id'], headers['webhook-timestamp'], headers['webhook-signature'])
  if (webhook !== null) {
    return { values: webhook, headers: { 'webhook-id': webhook[0], 'webhook-timestamp': webhook[1], 'webhook-signature': webhook[2] } }
  }
  return null
}

type HeaderValue = HeaderValues[string]

function wholeTriple(id: HeaderValue, timestamp: HeaderValue, signature: HeaderValue): Triple['values'] | null {
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string') return null
  return id === '' || timestamp === '' || signature === '' ? null : [id, timestamp, signature]
}

/** Several signatures stand in one header, with spaces between them. */
function readSignatures(header: string): string[] {
  const known: string[] = []
  for (const signature of header.split(' ', MAX_SIGNATURES)) {
    if (signature.startsWith(SCHEME) && signature.length > SCHEME.length) known.push(signature.slice(SCHEME.length))
  }
  return known
}

/** A longer id stands as its hash: after a good signature nothing is refused for its form (invariant 11). */
function keyOf(deliveryId: string): string {
  return deliveryId.length <= MAX_ID_LENGTH ? deliveryId : `sha256:${createHash('sha256').update(deliveryId).digest('hex')}`
}

function signBytes(key: Buffer, claim: SignatureClaim, body: Buffer): string {
  return SCHEME + createHmac('sha256', key).update(`${claim.deliveryId}.${claim.timestamp}.`).update(body).digest('base64')
}

function isAmong(expected: string, signatures: readonly string[]): boolean {
  const wanted = Buffer.from(expected)
  let found = false
  for (const signature of signatures) {
    const given = Buffer.from(signature)
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) found = true
  }
  return found
}
