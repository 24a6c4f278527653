import { createHash, timingSafeEqual } from 'node:crypto'
import type { SecretText } from '../../base/secret.ts'
import { SCHEME, SigningKey } from './signing-key.ts'

/** Allowed difference between a delivery's timestamp and its time of receipt. */
const TOLERANCE_S = 300
/** Longest delivery id that is stored unchanged. The id is a database key. */
const MAX_ID_LENGTH = 512
/** Maximum number of signatures that are checked in one header. */
const MAX_SIGNATURES = 16
const TIMESTAMP = /^\d{1,11}$/
/** The tag of a secret is the beginning of the HMAC of this text, with the secret as key. */
const TAG_TEXT = 'submission-mirror: which secret is this?'
const TAG_LENGTH = 8

/** Why the signature of a delivery is rejected. `unknown_scheme`: no signature has the scheme `v1` (trap 26). */
export type SignatureFault = 'missing_headers' | 'bad_timestamp' | 'stale_timestamp' | 'unknown_scheme' | 'wrong_signature'

/** Header values by lower-case name. */
export type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

interface SignatureClaim {
  readonly deliveryId: string
  readonly timestamp: number
  /** In base64, without the scheme. */
  readonly signatures: readonly string[]
  /** The headers with id, timestamp, and signature, under their original names. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The id, timestamp, and signatures of the `svix-*` headers, and those of the `webhook-*` headers. An invalid set of
 * headers is left out. Identical sets count once.
 */
export type SignatureClaims = readonly [SignatureClaim, ...SignatureClaim[]]

type CheckResult = { readonly ok: true; readonly claims: SignatureClaims } | { readonly ok: false; readonly reason: SignatureFault }

/**
 * `secret` is the position of the matching secret, from 1. `headers` are the verified headers with id,
 * timestamp, and signature.
 */
export type VerifyResult =
  | { readonly ok: true; readonly deliveryId: string; readonly secret: number; readonly headers: SignatureClaim['headers'] }
  | { readonly ok: false; readonly reason: SignatureFault }

/**
 * Checks the headers before the body is read. There are two sets of three headers: `svix-*` and `webhook-*`. A set is
 * valid if it is complete, has a supported scheme, and has a timestamp within 300 s of `atMs`. One valid set is enough.
 * @param atMs milliseconds since the epoch: now, or the time of receipt.
 * @returns for each valid set, a claim: id, timestamp, and signatures to verify. Without a valid set, the fault of
 * the first set.
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

/** Verifies deliveries of one account. Tries each of the account's secrets: HMAC-SHA256 over the raw body (trap 37). */
export class DeliveryVerifier {
  /** Tags of the secrets, in the order of the secrets; see `secretTag`. */
  readonly tags: readonly string[]
  readonly #keys: readonly SigningKey[]

  /**
   * @param secrets `whsec_…`, or base64 without this prefix.
   * @throws Error if a secret is empty or not base64.
   */
  constructor(secrets: readonly SecretText[]) {
    this.#keys = secrets.map((secret) => new SigningKey(secret.reveal()))
    this.tags = this.#keys.map(tagOf)
  }

  /** Verifies the claims in order until one matches. A body of 4 MiB takes 5 ms per claim and secret. */
  verify(claims: SignatureClaims, body: Buffer): VerifyResult {
    for (const claim of claims) {
      const secret = this.#secretOf(claim, body)
      if (secret !== null) return { ok: true, deliveryId: keyOf(claim.deliveryId), secret, headers: claim.headers }
    }
    return { ok: false, reason: 'wrong_signature' }
  }

  /**
   * Verifies a stored, rejected delivery again.
   * @param atMs time of receipt, in milliseconds since the epoch.
   */
  verifyAt(atMs: number, headers: HeaderValues, body: Buffer): VerifyResult {
    const checked = checkHeaders(headers, atMs)
    return checked.ok ? this.verify(checked.claims, body) : checked
  }

  /** @returns the position of the secret that made the signature, from 1; null if no secret matches. */
  #secretOf(claim: SignatureClaim, body: Buffer): number | null {
    const signedAt = new Date(claim.timestamp * 1000)
    let position = 0
    for (const key of this.#keys) {
      position += 1
      // The library's `verify` would reject an old delivery, because it compares the timestamp with the current time.
      const expected = key.sign(claim.deliveryId, signedAt, body)
      if (isAmong(expected.slice(SCHEME.length), claim.signatures)) return position
    }
    return null
  }
}

/**
 * @returns a short, stable name of a webhook secret: 32 bits of an HMAC with the secret as key. Secrets are random, so
 * the name doesn't reveal the secret.
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

/**
 * Finds complete sets of three headers. An incomplete set is ignored, because its signature can't be checked without
 * the id and the timestamp.
 */
function findTriples(headers: HeaderValues): Triple[] {
  const found: Triple[] = []
  for (const [id, timestamp, signature] of TRIPLES) {
    const values = wholeTriple(headers[id], headers[timestamp], headers[signature])
    // If both sets have the same values, they count once.
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

/** @returns the id as a database key. A hash replaces an id that is too long. */
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
