import { isUtf8 } from 'node:buffer'
import { createHmac } from 'node:crypto'
import { Webhook } from 'svix'

const SECRET_PREFIX = 'whsec_'
export const SCHEME = 'v1,'
/** Up to this size, the library's JavaScript hash is faster than the native hash. */
const SMALL_BYTES = 4 << 10

/**
 * A webhook secret that signs deliveries. Hashes large bodies with native code: the library's JavaScript hash would
 * block the event loop for 90 ms for a body of 4 MiB.
 * Also uses native code for invalid UTF-8, because the library treats different invalid bytes as equal. For valid
 * UTF-8, both give the same signature.
 */
export class SigningKey extends Webhook {
  readonly #bytes: Buffer

  /**
   * @param secret `whsec_…`, or base64 without this prefix.
   * @throws Error if the secret is empty or not base64.
   */
  constructor(secret: string) {
    super(secret)
    this.#bytes = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, 'base64')
  }

  /** @returns `v1,` and the signature in base64. */
  override sign(id: string, at: Date, payload: string | Buffer): string {
    if (payload.length <= SMALL_BYTES && (typeof payload === 'string' || isUtf8(payload))) return super.sign(id, at, payload)
    const signed = createHmac('sha256', this.#bytes).update(`${id}.${Math.floor(at.getTime() / 1000)}.`)
    return SCHEME + signed.update(payload).digest('base64')
  }

  /** @returns the first `length` hex digits of the HMAC of `text`. */
  tag(text: string, length: number): string {
    return createHmac('sha256', this.#bytes).update(text).digest('hex').slice(0, length)
  }
}
