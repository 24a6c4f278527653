import { createHash, timingSafeEqual } from 'node:crypto'
import type { SecretText } from '../../base/secret.ts'
import { SCHEME, SigningKey } from './signing-key.ts'

/** Allowed deviation of a delivery's timestamp. */
const TOLERANCE_S = 300
/** Limit of the id, a database key. */
const MAX_ID_LENGTH = 512
/** Limit of signatures per header. */
const MAX_SIGNATURES = 16
const TIMESTAMP = /^\d{1,11}$/
/** Signed with a secret to derive its tag. */
const TAG_TEXT = 'submission-mirror: which secret is this?'
const TAG_LENGTH = 8

/** Why a delivery is rejected. `unknown_scheme`: no signature has a supported scheme (trap 26). */
export type SignatureFault = 'missing_headers' | 'bad_timestamp' | 'stale_timestamp' | 'unknown_scheme' | 'wrong_signature'

/** Headers by lower-case name. */
export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

interface SignatureClaim {
  readonly deliveryId: string
  readonly timestamp: number
  /** Base64, without the scheme. */
  readonly signatures: readonly string[]
  /** The three headers, under their original names. */
  readonly headers: Readonly<Record<string, string>>
}

/** Claims of `svix-*`, then of `webhook-*` if they differ. */
export type SignatureClaims = readonly [SignatureClaim, ...SignatureClaim[]]

type CheckResult = { readonly ok: true; readonly claims: SignatureClaims } | { readonly ok: false; readonly reason: SignatureFault }

/** `secret`: position of the matching secret, from 1. `headers`: the three verified headers. */
export type VerifyResult =
  | { readonly ok: true; readonly deliveryId: string; readonly secret: number; readonly headers: SignatureClaim['headers'] }
  | { readonly ok: false; readonly reason: SignatureFault }

/**
 * Checks headers before the body is read: a complete triple (`svix-*` or `webhook-*`), a timestamp within 300 s of `atMs`, a supported
 * scheme. Each triple is one claim, so that a broken triple can't invalidate another.
 * @param atMs milliseconds since the epoch: now, or the time of receipt.
 * @returns the claims to verify, or the fault of the first triple.
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

/** Verifies deliveries of one account: HMAC-SHA256 over the raw body, with each of the account's secrets (trap 37). */
export class DeliveryVerifier {
  /** Tags of the secrets, in order. See `secretTag`. */
  readonly tags: readonly string[]
  readonly #keys: readonly SigningKey[]

  /**
   * @param secrets `whsec_…` or bare base64.
   * @throws Error if one is empty or not base64.
   */
  constructor(secrets: readonly SecretText[]) {
    this.#keys = secrets.map((secret) => new SigningKey(secret.reveal()))
    this.tags = this.#keys.map(tagOf)
  }

  /** Verifies claims in order until one matches. Takes 5 ms for 4 MiB per claim and secret. */
  verify(claims: SignatureClaims, body: Buffer): VerifyResult {
    for (const claim of claims) {
      const secret = this.#secretOf(claim, body)
      if (secret !== null) return { ok: true, deliveryId: keyOf(claim.deliveryId), secret, headers: claim.headers }
    }
    return { ok: false, reason: 'wrong_signature' }
  }

  /** Verifies a stored rejected delivery as of `atMs`. */
  verifyAt(atMs: number, headers: HeaderValues, body: Buffer): VerifyResult {
    const checked = checkHeaders(headers, atMs)
    return checked.ok ? this.verify(checked.claims, body) : checked
  }

  /** @returns the position of the matching secret, or null. */
  #secretOf(claim: SignatureClaim, body: Buffer): number | null {
    const signedAt = new Date(claim.timestamp * 1000)
    let position = 0
    for (const key of this.#keys) {
      position += 1
      // The library's `verify` would reject old deliveries by the real clock. `sign` costs the same.
      const expected = key.sign(claim.deliveryId, signedAt, body)
      if (isAmong(expected.slice(SCHEME.length), claim.signatures)) return position
    }
    return null
  }
}

/** A short, stable name of a webhook secret: 32 bits of an HMAC keyed with it. Reveals nothing, since secrets are random. */
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

/** Only complete triples count: the signature covers the id. */
function findTriples(headers: HeaderValues): Triple[] {
  const found: Triple[] = []
  for (const [id, timestamp, signature] of TRIPLES) {
    const values = wholeTriple(headers[id], headers[timestamp], headers[signature])
    // Skips identical values under both names.
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

function readSignatures(header: string): string[] {
  const known: string[] = []
  for (const signature of header.split(' ', MAX_SIGNATURES)) {
    if (signature.startsWith(SCHEME) && signature.length > SCHEME.length) known.push(signature.slice(SCHEME.length))
  }
  return known
}

/** Replaces an overlong id with its hash. */
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
