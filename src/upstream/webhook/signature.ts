import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../config/config.ts'
import { SCHEME, SigningKey } from './signing-key.ts'

/** How far a delivery's timestamp may lie from the time of its arrival, either way. */
const TOLERANCE_S = 300
/** The id is a key in the database, which has no room for more; the ids of the known scheme have some 30 characters. */
const MAX_ID_LENGTH = 512
/** Far more than any sender has secrets at a time. */
const MAX_SIGNATURES = 16
const TIMESTAMP = /^\d{1,11}$/
/** What a secret signs to give its tag. */
const TAG_TEXT = 'submission-mirror: which secret is this?'
const TAG_LENGTH = 8

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

/** What the headers claim: `svix-*`, and behind it `webhook-*` when both came and differ. */
export type SignatureClaims = readonly [SignatureClaim, ...SignatureClaim[]]

export type CheckResult = { readonly ok: true; readonly claims: SignatureClaims } | { readonly ok: false; readonly reason: SignatureFault }

/** `secret`: position, from 1, of the secret that verified. `headers`: the three that were verified, under the names they came with. */
export type VerifyResult =
  | { readonly ok: true; readonly deliveryId: string; readonly secret: number; readonly headers: SignatureClaim['headers'] }
  | { readonly ok: false; readonly reason: SignatureFault }

/**
 * The cheap part of verifying, for which the body need not have arrived: a whole triple of headers (`svix-*` or `webhook-*`), a
 * timestamp that is a whole number within 300 s of `atMs`, a signature of a scheme that we know. When both triples came, each of them
 * is a claim of its own: one that something on the way has spoiled does not spoil the other.
 * @param atMs milliseconds since the epoch: now, or the time of arrival of a delivery that is verified again.
 * @returns the claims that may be true; else what is wrong with the first triple.
 */
export function checkHeaders(headers: HeaderValues, atMs: number): CheckResult {
  const read = findTriples(headers).map((triple) => readClaim(triple, atMs))
  const [first, ...others] = read.filter((claim) => typeof claim === 'object')
  if (first !== undefined) return { ok: true, claims: [first, ...others] }
  const fault = read.find((claim) => typeof claim === 'string')
  return { ok: false, reason: fault ?? 'missing_headers' }
}

function readClaim(found: Triple, atMs: number): SignatureClaim | SignatureFault {
  const [deliveryId, timestampText, signatureText] = found.values
  if (!TIMESTAMP.test(timestampText)) return 'bad_timestamp'
  const timestamp = Number(timestampText)
  if (Math.abs(Math.floor(atMs / 1000) - timestamp) > TOLERANCE_S) return 'stale_timestamp'
  const signatures = readSignatures(signatureText)
  if (signatures.length === 0) return 'unknown_scheme'
  return { deliveryId, timestamp, signatures, headers: found.headers }
}

/**
 * Verifies deliveries of one account: HMAC-SHA256 over the raw bytes of the body, with each of the account's secrets, so that
 * two can live at once while one replaces the other (trap 37).
 */
export class DeliveryVerifier {
  /** Those of the secrets, in their order. */
  readonly tags: readonly string[]
  readonly #keys: readonly SigningKey[]

  /**
   * @param secrets `whsec_…` or bare base64, in the order of the settings, which see to their length.
   * @throws Error when one of them is empty or no base64.
   */
  constructor(secrets: readonly Secret[]) {
    this.#keys = secrets.map((secret) => new SigningKey(secret.reveal()))
    this.tags = this.#keys.map(tagOf)
  }

  /**
   * Verifies the claims that `checkHeaders` found whole, in their order, until one is true. Costs some 5 ms for 4 MiB, for each claim
   * and secret.
   */
  verify(claims: SignatureClaims, body: Buffer): VerifyResult {
    for (const claim of claims) {
      const secret = this.#secretOf(claim, body)
      if (secret !== null) return { ok: true, deliveryId: keyOf(claim.deliveryId), secret, headers: claim.headers }
    }
    return { ok: false, reason: 'wrong_signature' }
  }

  /** Both parts, judged as of `atMs`: for a delivery that was refused and kept. */
  verifyAt(atMs: number, headers: HeaderValues, body: Buffer): VerifyResult {
    const checked = checkHeaders(headers, atMs)
    return checked.ok ? this.verify(checked.claims, body) : checked
  }

  /** @returns the position of the secret that made one of the claim's signatures, or null. */
  #secretOf(claim: SignatureClaim, body: Buffer): number | null {
    const signedAt = new Date(claim.timestamp * 1000)
    let position = 0
    for (const key of this.#keys) {
      position += 1
      // The library's `verify` knows only the real clock, and would refuse a delivery that is verified again later. Its `sign`
      // does the same work once per secret, however many signatures came.
      const expected = key.sign(claim.deliveryId, signedAt, body)
      if (isAmong(expected.slice(SCHEME.length), claim.signatures)) return position
    }
    return null
  }
}

/**
 * A short name by which a webhook secret is known again, wherever it stands in the settings. It is 32 bits of a signature that is made
 * with the secret: whoever can read the store finds whole signatures there anyway, and neither tells anything of a secret that is random.
 */
export function secretTag(secret: Secret): string {
  return tagOf(new SigningKey(secret.reveal()))
}

function tagOf(key: SigningKey): string {
  return key.tag(TAG_TEXT, TAG_LENGTH)
}

interface Triple {
  readonly values: readonly [id: string, timestamp: string, signature: string]
  readonly headers: Readonly<Record<string, string>>
}

const TRIPLES = [
  ['svix-id', 'svix-timestamp', 'svix-signature'],
  ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
] as const

/** Only whole triples count, so that an id that is verified is the one that its signature covers. */
function findTriples(headers: HeaderValues): Triple[] {
  const found: Triple[] = []
  for (const [id, timestamp, signature] of TRIPLES) {
    const values = wholeTriple(headers[id], headers[timestamp], headers[signature])
    // Senders that give both names give them the same values: nothing is verified twice.
    if (values === null || found[0]?.values.every((value, index) => value === values[index])) continue
    found.push({ values, headers: { [id]: values[0], [timestamp]: values[1], [signature]: values[2] } })
  }
  return found
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

function isAmong(expected: string, signatures: readonly string[]): boolean {
  const wanted = Buffer.from(expected)
  let found = false
  for (const signature of signatures) {
    const given = Buffer.from(signature)
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) found = true
  }
  return found
}
