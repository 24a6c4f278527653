import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import { OAuthError, Refusal } from './refusal.ts'
import type { Unshown } from './unshown.ts'

export interface RegisteredClient {
  readonly clientId: string
  readonly name: string
  readonly redirectUris: readonly string[]
}

const PREFIX = 'dyn_'
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\])(:\d+)?(?=[/?]|$)/i
const HOUR_MS = 3_600_000

/**
 * Registers clients (RFC 7591) without storing them. A client id is signed and contains the name and redirect URIs. The
 * clients use PKCE and have no secret. Limits the registrations of each address per hour.
 */
export class Clients {
  readonly #key: Buffer
  readonly #clock: Clock
  readonly #unshown: Unshown
  readonly #counts = new Map<string, { readonly sinceMs: number; count: number }>()

  constructor(options: { readonly prng: Prng; readonly clock: Clock; readonly unshown: Unshown }) {
    this.#key = options.prng.bytes('client ids')
    this.#clock = options.clock
    this.#unshown = options.unshown
  }

  /**
   * Registers a client.
   * @param address address of the caller.
   * @throws Refusal if the address has reached its hourly limit; OAuthError if a redirect URI is invalid.
   */
  register(name: string, redirectUris: readonly string[], address: string): RegisteredClient {
    this.#count(address)
    for (const uri of redirectUris) if (!isRedirectUri(uri)) throw new OAuthError('invalid_redirect_uri', `${uri} is no redirect URI`)
    const content = Buffer.from(JSON.stringify([name, ...redirectUris])).toString('base64url')
    return { clientId: `${PREFIX}${content}.${this.#sign(content)}`, name, redirectUris }
  }

  /** @returns the client that the id contains; null if the sandbox didn't issue the id. */
  read(clientId: string): RegisteredClient | null {
    const [content, signature] = clientId.startsWith(PREFIX) ? clientId.slice(PREFIX.length).split('.') : []
    if (content === undefined || signature === undefined) return null
    const [given, expected] = [Buffer.from(signature), Buffer.from(this.#sign(content))]
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
    const [name, ...redirectUris] = JSON.parse(Buffer.from(content, 'base64url').toString()) as [string, ...string[]]
    return { clientId, name, redirectUris }
  }

  #sign(content: string): string {
    return createHmac('sha256', this.#key).update(content).digest('base64url')
  }

  #count(address: string): void {
    const now = this.#clock.now()
    for (const [other, { sinceMs }] of this.#counts) if (now - sinceMs >= HOUR_MS) this.#counts.delete(other)
    const counted = this.#counts.get(address) ?? { sinceMs: now, count: 0 }
    if (counted.count >= this.#unshown.number('registrations_per_hour')) {
      const waitSeconds = Math.ceil((counted.sinceMs + HOUR_MS - now) / 1000)
      throw new Refusal('registration_limit', 'Too many registrations from this address', { 'retry-after': String(waitSeconds) })
    }
    counted.count++
    this.#counts.set(address, counted)
  }
}

/**
 * Whether the text is a redirect URI: https, http on loopback, or an application's own scheme.
 * A fragment isn't allowed.
 */
function isRedirectUri(text: string): boolean {
  if (!URL.canParse(text) || text.includes('#')) return false
  const { protocol, hostname } = new URL(text)
  if (protocol === 'http:') return ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
  return protocol === 'https:' || /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/.test(protocol)
}

/** Whether a client may redirect to `uri`. On loopback, any port is allowed (RFC 8252). */
export function allowsRedirect({ redirectUris }: RegisteredClient, uri: string): boolean {
  const withoutPort = (text: string) => text.replace(LOOPBACK, 'http://$1')
  return redirectUris.some(
    (known) => known === uri || (LOOPBACK.test(known) && LOOPBACK.test(uri) && withoutPort(known) === withoutPort(uri)),
  )
}
