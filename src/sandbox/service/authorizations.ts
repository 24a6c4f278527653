import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account, User } from './accounts.ts'
import { allowsRedirect, type Clients, type RegisteredClient } from './clients.ts'
import { OAuthError } from './refusal.ts'
import { parseScopes, type Scope, scopes } from './scopes.ts'
import type { Approval, Sessions, TokenPair } from './sessions.ts'
import type { Unshown } from './unshown.ts'

/** A request to `/oauth/authorize` with a valid client and redirect URI. */
export interface AuthorizationRequest {
  readonly client: RegisteredClient
  readonly redirectUri: string
  readonly state: string | null
  /** A problem to report in the redirect; null if there is none. */
  readonly problem: OAuthError | null
  readonly codeChallenge: string
  readonly scopes: readonly Scope[]
}

interface Code {
  readonly approval: Approval
  readonly redirectUri: string
  readonly codeChallenge: string
  readonly expiresAtMs: number
  /** Id of the session that this code opened; null if the code is unused. */
  family: string | null
}

export interface AuthorizationsOptions {
  readonly clock: Clock
  readonly prng: Prng
  readonly clients: Clients
  readonly sessions: Sessions
  readonly unshown: Unshown
}

export class Authorizations {
  readonly #options: AuthorizationsOptions
  readonly #codes = new Map<string, Code>()
  #latest: URLSearchParams | null = null

  constructor(options: AuthorizationsOptions) {
    this.#options = options
  }

  /** Query of the latest request; null if that request had a `problem`, or was approved or denied. */
  get latest(): URLSearchParams | null {
    return this.#latest
  }

  /**
   * Reads the query of `/oauth/authorize`.
   * @throws OAuthError if the client is unknown or the redirect URI isn't registered. In this case, the browser must
   * not be redirected.
   */
  read(query: URLSearchParams): AuthorizationRequest {
    const client = this.#options.clients.read(query.get('client_id') ?? '')
    if (!client) throw new OAuthError('invalid_client', 'client_id is missing or was not issued by /oauth/register')
    const redirectUri = query.get('redirect_uri') ?? ''
    if (!allowsRedirect(client, redirectUri)) throw new OAuthError('invalid_request', 'redirect_uri is missing or not registered')
    const asked = query.get('scope')
    const read = asked === null ? scopes : parseScopes(asked)
    const codeChallenge = query.get('code_challenge') ?? ''
    const problem = problemOf(query, read)
    this.#latest = problem ? null : query
    return { client, redirectUri, state: query.get('state'), problem, codeChallenge, scopes: read ?? [] }
  }

  /**
   * Approves a request.
   * @returns the URL to redirect to, with a code or the problem.
   */
  approve(request: AuthorizationRequest, account: Account, user: User): string {
    this.#latest = null
    if (request.problem) return this.deny(request)
    const { clock, prng, sessions, unshown } = this.#options
    for (const [code, { expiresAtMs }] of this.#codes) if (expiresAtMs <= clock.now()) this.#codes.delete(code)
    try {
      const approval = sessions.approve(account, user, request.client.clientId, request.scopes)
      const code = `oac_${prng.uuid().replaceAll('-', '')}`
      const expiresAtMs = clock.now() + unshown.number('code_lifetime_s') * 1000
      this.#codes.set(code, { approval, redirectUri: request.redirectUri, codeChallenge: request.codeChallenge, expiresAtMs, family: null })
      return redirectTo(request, { code })
    } catch (error) {
      if (error instanceof OAuthError) return redirectTo(request, { error: error.code, error_description: error.message })
      throw error
    }
  }

  /**
   * Denies a request.
   * @returns the URL to redirect to, with the request's problem or `access_denied`.
   */
  deny(request: AuthorizationRequest): string {
    this.#latest = null
    const { problem } = request
    if (problem) return redirectTo(request, { error: problem.code, error_description: problem.message })
    return redirectTo(request, { error: 'access_denied', error_description: 'The broker did not approve' })
  }

  /**
   * Exchanges a code for tokens. A code works once. A second use also ends the session of the first
   * use (RFC 6749, 4.1.2).
   * @throws OAuthError if the code, client, redirect URI, or verifier doesn't match.
   */
  redeem(form: { code: string; clientId: string; redirectUri: string; verifier: string }): TokenPair {
    const { clock, prng, sessions } = this.#options
    const known = this.#codes.get(form.code)
    if (known?.family) sessions.end(known.family)
    const isGood =
      known &&
      known.family === null &&
      known.expiresAtMs > clock.now() &&
      known.approval.clientId === form.clientId &&
      known.redirectUri === form.redirectUri &&
      known.codeChallenge === createHash('sha256').update(form.verifier).digest('base64url')
    if (!isGood)
      throw new OAuthError('invalid_grant', 'The code is unknown, used or expired, or client, redirect_uri or code_verifier differ')
    known.family = prng.uuid()
    return sessions.open(known.approval, known.family)
  }

  toState(): [string, Code][] {
    return [...this.#codes]
  }

  fromState(state: readonly [string, Code][]): void {
    for (const [code, known] of state) this.#codes.set(code, known)
  }
}

function problemOf(query: URLSearchParams, asked: readonly Scope[] | null): OAuthError | null {
  if (query.get('response_type') !== 'code') return new OAuthError('unsupported_response_type', 'response_type must be code')
  if (query.get('code_challenge_method') !== 'S256') return new OAuthError('invalid_request', 'code_challenge_method must be S256')
  if (!/^[A-Za-z0-9_-]{43}$/.test(query.get('code_challenge') ?? ''))
    return new OAuthError('invalid_request', 'code_challenge must be a SHA-256 hash in base64url')
  if (!asked || asked.length === 0) return new OAuthError('invalid_scope', 'scope must be broker_mcp, broker_submit or both')
  return null
}

function redirectTo({ redirectUri, state }: AuthorizationRequest, fields: Readonly<Record<string, string>>): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries({ ...fields, ...(state !== null && { state }) })) url.searchParams.set(name, value)
  return url.href
}
