import { createHash, timingSafeEqual } from 'node:crypto'
import type { SecretText } from '../../base/secret.ts'
import { SCHEME, SigningKey } from './signing-key.ts'

/** Allowed difference between a delivery's timestamp and the time it is received. */
const TOLERANCE_S = 300
/** Limit of the id, which is a database key. Normal ids have some 30 characters. */
const MAX_ID_LENGTH = 512
/** Far more than a sender has secrets at a time. */
const MAX_SIGNATURES = 16
const TIMESTAMP = /^\d{1,11}$/
/** Text signed with a secret to derive its tag. */
const TAG_TEXT = 'submission-mirror: which secret is this?'
const TAG_LENGTH = 8

/** Why a delivery is not trusted. `unknown_scheme`: no signature in the header has a supported scheme (trap 26). */
export type SignatureFault = 'missing_headers' | 'bad_timestamp' | 'stale_timestamp' | 'unknown_scheme' | 'wrong_signature'

/** Headers by name in lower case, as in Node. */
export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

/** A signature claimed by a delivery's headers, not yet verified. */
export interface SignatureClaim {
  readonly deliveryId: string
  /** Seconds since the epoch. */
  readonly timestamp: number
  /** Base64, without the scheme prefix. */
  readonly signatures: readonly string[]
  /** The three headers of the claim, under their original names. */
  readonly headers: Readonly<Record<string, string>>
}

/** The claims in the headers: `svix-*`, then `webhook-*` when both are present and differ. */
export type SignatureClaims = readonly [SignatureClaim, ...SignatureClaim[]]

export type CheckResult = { readonly ok: true; readonly claims: SignatureClaims } | { readonly ok: false; readonly reason: SignatureFault }

/** `secret`: position, from 1, of the secret that verified. `headers`: the three verified headers, under their original names. */
export type VerifyResult =
  | { readonly ok: true; readonly deliveryId: string; readonly secret: number; readonly headers: SignatureClaim['headers'] }
  | { readonly ok: false; readonly reason: SignatureFault }

/**
 * The cheap checks, made before the body is read: a whole triple of headers (`svix-*` or `webhook-*`), a timestamp within 300 s of `atMs`,
 * and a signature with a supported scheme. If both triples are present, each is a claim of its own, so that a broken one does not spoil the
 * other.
 * @param atMs milliseconds since the epoch: now, or the time of receipt of a delivery that is verified again.
 * @returns the claims to verify; else what is wrong with the first triple.
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
 * Verifies deliveries of one account: HMAC-SHA256 over the raw bytes of the body, with each of the account's secrets, so that an old and a new
 * secret can be valid at once (trap 37).
 */
export class DeliveryVerifier {
  /** Tags of the secrets, in their order. See `secretTag`. */
  readonly tags: readonly string[]
  readonly #keys: readonly SigningKey[]

  /**
   * @param secrets `whsec_…` or bare base64, in the order of the settings, which check their length.
   * @throws Error when one of them is empty or not base64.
   */
  constructor(secrets: readonly SecretText[]) {
    this.#keys = secrets.map((secret) => new SigningKey(secret.reveal()))
    this.tags = this.#keys.map(tagOf)
  }

  /**
   * Verifies the claims of `checkHeaders` in order, until one is true. Costs some 5 ms for 4 MiB, for each claim and secret.
   */
  verify(claims: SignatureClaims, body: Buffer): VerifyResult {
    for (const claim of claims) {
      const secret = this.#secretOf(claim, body)
      if (secret !== null) return { ok: true, deliveryId: keyOf(claim.deliveryId), secret, headers: claim.headers }
    }
    return { ok: false, reason: 'wrong_signature' }
  }

  /** Checks headers and signature as of `atMs`, for a delivery that was rejected and kept. */
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
      // The library's `verify` uses the real clock and would refuse a delivery that is verified again later. Comparing with `sign` costs the
      // same, once per secret.
      const expected = key.sign(claim.deliveryId, signedAt, body)
      if (isAmong(expected.slice(SCHEME.length), claim.signatures)) return position
    }
    return null
  }
}

/**
 * A short, stable name of a webhook secret, whatever its position in the settings. It is 32 bits of an HMAC made with the secret. It reveals
 * nothing: the database holds whole signatures anyway, and secrets are random.
 */
export function secretTag(secret: SecretText): string {
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

/** Only whole triples count, so that the verified id is the one that the signature covers. */
function findTriples(headers: HeaderValues): Triple[] {
  const found: Triple[] = []
  for (const [id, timestamp, signature] of TRIPLES) {
    const values = wholeTriple(headers[id], headers[timestamp], headers[signature])
    // Senders that use both names send the same values twice; verify them once.
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

/** A header may hold several signatures, separated by spaces. */
function readSignatures(header: string): string[] {
  const known: string[] = []
  for (const signature of header.split(' ', MAX_SIGNATURES)) {
    if (signature.startsWith(SCHEME) && signature.length > SCHEME.length) known.push(signature.slice(SCHEME.length))
  }
  return known
}

/** Replaces a longer id by its hash: after a good signature nothing is refused for its form (invariant 11). */
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
