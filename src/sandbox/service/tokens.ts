import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account, Credential } from './accounts.ts'
import type { FaultBook } from './faults.ts'

/** The scope that reads need; a wider one is never granted to the sandbox's keys. */
export const READ_SCOPE = 'broker_mcp'
export const LIFETIME_SECONDS = 3_600

/** Who a live token speaks for. */
export interface Caller {
  readonly account: Account
  readonly credential: Credential
}

interface Token extends Caller {
  readonly diesAtMs: number
}

export interface TokensOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly faults: FaultBook
  readonly accounts: ReadonlyMap<string, Account>
}

/** Mints bearer tokens and knows whom each speaks for. */
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
    this.#forgetDead()
    const early = faults.draw(['token_dies_early'], { operation: 'token', account: caller.account.name })
    const claims = { sub: caller.credential.clientId, aud: 'submission-sandbox', scope: READ_SCOPE, jti: prng.uuid() }
    const token = [{ alg: 'none', typ: 'JWT' }, claims, prng.uuid()]
      .map((part) => Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url'))
      .join('.')
    this.#tokens.set(token, { ...caller, diesAtMs: clock.now() + (early?.ms ?? LIFETIME_SECONDS * 1000) })
    return token
  }

  /** @param authorization the header as it came. @returns null for no, an unknown or a dead token. */
  callerOf(authorization: string | undefined): Caller | null {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
    const known = token === undefined ? undefined : this.#tokens.get(token)
    return known && known.diesAtMs > this.#options.clock.now() ? known : null
  }

  /** Ends every token of the account at once. */
  killAll(account: string): void {
    for (const [token, known] of this.#tokens) if (known.account.name === account) this.#tokens.delete(token)
  }

  #forgetDead(): void {
    const now = this.#options.clock.now()
    for (const [token, known] of this.#tokens) if (known.diesAtMs <= now) this.#tokens.delete(token)
  }
}
