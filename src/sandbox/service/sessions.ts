import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account, User } from './accounts.ts'
import { OAuthError } from './refusal.ts'
import type { Scope } from './scopes.ts'
import type { Tokens } from './tokens.ts'
import type { Unshown } from './unshown.ts'

/** The approval of a client by a user, as plain data. */
export interface Approval {
  readonly account: string
  readonly userId: string
  readonly clientId: string
  readonly scopes: readonly Scope[]
}

export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
  readonly scopes: readonly Scope[]
}

interface RefreshToken {
  readonly token: string
  /** Id of the session. All tokens of a session share this id. */
  readonly family: string
  readonly approval: Approval
  readonly expiresAtMs: number
  isUsed: boolean
}

interface SessionsOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly tokens: Tokens
  readonly accounts: ReadonlyMap<string, Account>
  readonly unshown: Unshown
}

/** Sessions of users. A refresh token works once. Its use returns a new refresh token. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #refreshTokens = new Map<string, RefreshToken>()

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  /**
   * Approves a client for a user. Grants only the requested scopes that the
   * brokerage's programmatic-access controls allow.
   * @throws OAuthError if no scope is left.
   */
  approve(account: Account, user: User, clientId: string, asked: readonly Scope[]): Approval {
    const scopes = asked.filter((scope) => account.programmaticScopes.includes(scope))
    if (scopes.length === 0) throw new OAuthError('invalid_scope', 'This brokerage allows none of these scopes to connected apps')
    return { account: account.name, userId: user.id, clientId, scopes }
  }

  /**
   * Begins or continues a session.
   * @param family id of the session. Default: a new id.
   * @returns new tokens.
   * @throws OAuthError if the user is inactive, or if no scope is left.
   */
  open(approval: Approval, family: string = this.#options.prng.uuid()): TokenPair {
    const { account, user } = this.#holder(approval)
    const { clock, prng, tokens, unshown } = this.#options
    // Checks the scopes again, because the brokerage may now allow fewer scopes than at the approval.
    const { scopes } = this.approve(account, user, approval.clientId, approval.scopes)
    for (const [old, { expiresAtMs: endMs }] of this.#refreshTokens) if (endMs <= clock.now()) this.#refreshTokens.delete(old)
    const token = `ort_${prng.uuid()}${prng.uuid()}`.replaceAll('-', '')
    const expiresAtMs = clock.now() + unshown.number('refresh_lifetime_s') * 1000
    this.#refreshTokens.set(token, { token, family, approval, expiresAtMs, isUsed: false })
    const accessToken = tokens.mint({ account, scopes, kind: 'user', credential: null, user }, family)
    return { accessToken, refreshToken: token, scopes }
  }

  /**
   * Exchanges a refresh token, which works once.
   * @param clientId null if the request contains none.
   * @param scopes null for all approved scopes.
   * @throws OAuthError if the token is unknown, expired, used, or another client's, or if a scope wasn't approved.
   * Using a token twice also ends the session, unless the variant `refresh_reuse` is `refuse`.
   */
  refresh(token: string, clientId: string | null, scopes: readonly Scope[] | null): TokenPair {
    const known = this.#refreshTokens.get(token)
    if (!known || known.expiresAtMs <= this.#options.clock.now() || (clientId !== null && clientId !== known.approval.clientId))
      throw new OAuthError('invalid_grant', 'The refresh token is unknown, expired or of another client')
    if (known.isUsed) {
      if (this.#options.unshown.word('refresh_reuse') === 'revoke_family') this.end(known.family)
      throw new OAuthError('invalid_grant', 'The refresh token was used before')
    }
    if (scopes?.some((scope) => !known.approval.scopes.includes(scope))) throw new OAuthError('invalid_scope', 'More than was approved')
    const pair = this.open(scopes ? { ...known.approval, scopes } : known.approval, known.family)
    known.isUsed = true
    return pair
  }

  /** @returns the active sessions of a brokerage's connected apps, by session id. */
  list(account: string): Map<string, Approval> {
    const live = [...this.#refreshTokens.values()].filter((one) => one.approval.account === account && !one.isUsed)
    return new Map(live.map(({ family, approval }) => [family, approval]))
  }

  /** Ends a session. Its tokens expire immediately. */
  end(family: string): void {
    for (const [token, known] of this.#refreshTokens) if (known.family === family) this.#refreshTokens.delete(token)
    this.#options.tokens.expireFamily(family)
  }

  toState(): RefreshToken[] {
    return [...this.#refreshTokens.values()]
  }

  fromState(state: readonly RefreshToken[]): void {
    for (const token of state) this.#refreshTokens.set(token.token, token)
  }

  #holder({ account: name, userId }: Approval): { account: Account; user: User } {
    const account = this.#options.accounts.get(name)
    const user = account?.users.find(({ id, active }) => id === userId && active)
    if (!account || !user) throw new OAuthError('invalid_grant', 'The user is no longer active')
    return { account, user }
  }
}
