import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account, Credential, User } from './accounts.ts'
import type { FaultInjector } from './faults.ts'
import type { Scope } from './scopes.ts'

/** Lifetime of access tokens, from the specification. */
export const LIFETIME_SECONDS = 3_600

/**
 * Owner of a token, and the token's scopes:
 * - `machine`: a brokerage's key
 * - `partner`: the key of a partner that acts as the brokerage
 * - `user`: a user of a connected app
 * - `portal`: a user in a portal session, with all scopes
 */
export type Caller = { readonly account: Account; readonly scopes: readonly Scope[] } & (
  | { readonly kind: 'machine' | 'partner'; readonly credential: Credential; readonly user: null }
  | { readonly kind: 'user' | 'portal'; readonly credential: null; readonly user: User }
)

interface Token {
  readonly caller: Caller
  /** Id of the user's session; null for a token without a session. */
  readonly family: string | null
  readonly expiresAtMs: number
}

/** A token as saved in the state file. `holder` is the id of its credential or user. */
interface SavedToken {
  readonly token: string
  readonly account: string
  readonly kind: Caller['kind']
  readonly holder: string
  readonly scopes: readonly Scope[]
  readonly family: string | null
  readonly expiresAtMs: number
}

interface TokensOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly faults: FaultInjector
  readonly accounts: ReadonlyMap<string, Account>
}

/** Issues access tokens and finds their owners. */
export class Tokens {
  readonly #options: TokensOptions
  readonly #tokens = new Map<string, Token>()

  constructor(options: TokensOptions) {
    this.#options = options
  }

  /**
   * @returns the owner of a credential, even if the credential is inactive; null if no credential has
   * this id and secret.
   */
  find(clientId: string, clientSecret: string): Extract<Caller, { kind: 'machine' | 'partner' }> | null {
    const isMeant = (other: Credential) => other.clientId === clientId && other.clientSecret === clientSecret
    for (const account of this.#options.accounts.values()) {
      const { partner } = account
      if (isMeant(partner)) return { account, scopes: partner.scopes, kind: 'partner', credential: partner, user: null }
      const credential = [...account.credentials, account.readOnly].find(isMeant)
      if (credential) return { account, scopes: credential.scopes, kind: 'machine', credential, user: null }
    }
    return null
  }

  /**
   * Issues an access token.
   * @param family id of the user's session.
   */
  mint(caller: Caller, family: string | null = null): string {
    const { clock, faults, prng } = this.#options
    this.#deleteExpired()
    const early = faults.draw(['token_dies_early'], { operation: 'token', account: caller.account.name })
    const subject = caller.credential?.clientId ?? caller.user?.id
    const expiresAtMs = clock.now() + (early?.ms ?? LIFETIME_SECONDS * 1000)
    const [iat, exp] = [clock.now(), clock.now() + LIFETIME_SECONDS * 1000].map((ms) => Math.floor(ms / 1000))
    const claims = { sub: subject, aud: 'submission-sandbox', scope: caller.scopes.join(' '), iat, exp, jti: prng.uuid() }
    const token = [{ alg: 'none', typ: 'JWT' }, claims, prng.uuid()]
      .map((part) => Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url'))
      .join('.')
    this.#tokens.set(token, { caller, family, expiresAtMs })
    return token
  }

  /**
   * @param authorization value of the header `Authorization`.
   * @returns the token's owner; null if the token is missing, unknown, or expired.
   */
  callerOf(authorization: string | undefined): Caller | null {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1]
    const known = token === undefined ? undefined : this.#tokens.get(token)
    return known && known.expiresAtMs > this.#options.clock.now() ? known.caller : null
  }

  expireAll(account: string): void {
    for (const [token, known] of this.#tokens) if (known.caller.account.name === account) this.#tokens.delete(token)
  }

  expireFamily(family: string): void {
    for (const [token, known] of this.#tokens) if (known.family === family) this.#tokens.delete(token)
  }

  toState(): SavedToken[] {
    this.#deleteExpired()
    return [...this.#tokens].map(([token, { caller, family, expiresAtMs }]) => {
      const holder = caller.credential?.clientId ?? caller.user?.id ?? ''
      return { token, account: caller.account.name, kind: caller.kind, holder, scopes: caller.scopes, family, expiresAtMs }
    })
  }

  fromState(state: readonly SavedToken[]): void {
    for (const { token, account: name, kind, holder, scopes, family, expiresAtMs } of state) {
      const account = this.#options.accounts.get(name)
      const caller = account && callerFrom(account, kind, holder, scopes)
      if (caller) this.#tokens.set(token, { caller, family, expiresAtMs })
    }
  }

  #deleteExpired(): void {
    const now = this.#options.clock.now()
    for (const [token, known] of this.#tokens) if (known.expiresAtMs <= now) this.#tokens.delete(token)
  }
}

function callerFrom(account: Account, kind: Caller['kind'], holder: string, scopes: readonly Scope[]): Caller | null {
  if (kind === 'user' || kind === 'portal') {
    const user = account.users.find(({ id }) => id === holder)
    return user ? { account, kind, scopes, credential: null, user } : null
  }
  const credential = [...account.credentials, account.readOnly, account.partner].find(({ clientId }) => clientId === holder)
  return credential ? { account, kind, scopes, credential, user: null } : null
}
