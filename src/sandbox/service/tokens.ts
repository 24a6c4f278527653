import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account, Credential } from './accounts.ts'
import type { FaultInjector } from './faults.ts'

/** The scope for reads. The sandbox grants no other. */
export const READ_SCOPE = 'broker_mcp'
export const LIFETIME_SECONDS = 3_600

export interface Caller {
  readonly account: Account
  readonly credential: Credential
}

interface Token extends Caller {
  readonly expiresAtMs: number
}

export interface TokensOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly faults: FaultInjector
  readonly accounts: ReadonlyMap<string, Account>
}

/** Issues bearer tokens and finds the caller of a token. */
export class Tokens {
  readonly #options: TokensOptions
  readonly #tokens = new Map<string, Token>()

  constructor(options: TokensOptions) {
    this.#options = options
  }

  /** @returns the credential with this id and secret, active or not; null when there is none. */
  find(clientId: string, clientSecret: string): Caller | null {
    for (const account of this.#options.accounts.values()) {
      const credential = account.credentials.find((other) => other.clientId === clientId && other.clientSecret === clientSecret)
      if (credential) return { account, credential }
    }
    return null
  }

  mint(caller: Caller): string {
    const { clock, faults, prng } = this.#options
    this.#deleteExpired()
    const early = faults.draw(['token_dies_early'], { operation: 'token', account: caller.account.name })
    const claims = { sub: caller.credential.clientId, aud: 'submission-sandbox', scope: READ_SCOPE, jti: prng.uuid() }
    const token = [{ alg: 'none', typ: 'JWT' }, claims, prng.uuid()]
      .map((part) => Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url'))
      .join('.')
    this.#tokens.set(token, { ...caller, expiresAtMs: clock.now() + (early?.ms ?? LIFETIME_SECONDS * 1000) })
    return token
  }

  /** @param authorization the header. @returns null when the token is missing, unknown or expired. */
  callerOf(authorization: string | undefined): Caller | null {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
    const known = token === undefined ? undefined : this.#tokens.get(token)
    return known && known.expiresAtMs > this.#options.clock.now() ? known : null
  }

  /** Expires all tokens of an account. */
  expireAll(account: string): void {
    for (const [token, known] of this.#tokens) if (known.account.name === account) this.#tokens.delete(token)
  }

  #deleteExpired(): void {
    const now = this.#options.clock.now()
    for (const [token, known] of this.#tokens) if (known.expiresAtMs <= now) this.#tokens.delete(token)
  }
}
