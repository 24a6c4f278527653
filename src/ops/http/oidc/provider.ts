import type * as openid from 'openid-client'
import { messageOf } from '../../../base/errors.ts'
import { loadOnce } from '../../../base/load-once.ts'
import type { OidcConfig } from '../../../config/config.ts'
import { storableText } from '../../../model/json.ts'
import { printableLine } from '../../output/text.ts'
import type { Identity } from '../api/sessions.ts'

const TIMEOUT_S = 5
/** Maximum characters of a name in the audit log. */
const LONGEST_NAME = 150
const LONGEST_UNCONFIRMED = 80
/** Maximum number of claim values that are read. A person may be in thousands of groups. */
const MOST_VALUES = 1_000

/** Values of a sign-in in progress. The browser stores them until the provider redirects back. */
export interface Pending {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Thrown if the provider does not answer, or answers incorrectly. The user sees the message. */
export class ProviderAwayError extends Error {}

/** Thrown if the provider did not confirm the sign-in. The user sees the message. */
export class NotVouchedError extends Error {}

interface Ready {
  readonly client: typeof openid
  readonly config: openid.Configuration
}

/**
 * Signs people in at an OpenID Connect provider, by code flow with PKCE, state and nonce.
 * Discovery runs at the first sign-in.
 */
export class Provider {
  readonly #oidc: OidcConfig
  readonly #ready = loadOnce(() => this.#discover())

  constructor(oidc: OidcConfig) {
    this.#oidc = oidc
  }

  /**
   * Begins a sign-in.
   * @returns the provider's URL to open, and values that the browser must store.
   * @throws ProviderAwayError if the provider does not answer correctly.
   */
  async begin(redirectUri: string): Promise<{ readonly url: URL; readonly pending: Pending }> {
    const { client, config } = await this.#discovered()
    const pending = { state: client.randomState(), nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() }
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: this.#oidc.scope,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    })
    return { url, pending }
  }

  /**
   * Completes a sign-in with the values from `begin`.
   * @param url callback URL with code and state.
   * @throws NotVouchedError if the provider did not confirm the sign-in, ProviderAwayError if it does not answer.
   */
  async finish(url: URL, { state, nonce, verifier }: Pending): Promise<Identity> {
    const { client, config } = await this.#discovered()
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    try {
      const tokens = await client.authorizationCodeGrant(config, url, checks)
      const claims = tokens.claims()
      if (claims === undefined) throw new NotVouchedError('the provider sent no ID token')
      const inToken = claims[this.#oidc.claim]
      const more =
        inToken === undefined && config.serverMetadata().userinfo_endpoint !== undefined
          ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
          : {}
      return identityOf(this.#oidc, { ...more, ...claims })
    } catch (error) {
      throw this.#refusal(client, error)
    }
  }

  async #discovered(): Promise<Ready> {
    try {
      return await this.#ready()
    } catch (error) {
      const { issuer, name } = this.#oidc
      throw new ProviderAwayError(`${name} does not answer correctly (${printableLine(causeOf(error))}). Try again, or check ${issuer}`, {
        cause: error,
      })
    }
  }

  async #discover(): Promise<Ready> {
    const { issuer, clientId, clientSecret } = this.#oidc
    const client = await import('openid-client')
    const isPlain = new URL(issuer).protocol === 'http:'
    const execute = [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])]
    const options = { timeout: TIMEOUT_S, execute }
    return { client, config: await client.discovery(new URL(issuer), clientId, clientSecret.reveal(), undefined, options) }
  }

  #refusal(client: typeof openid, error: unknown): Error {
    if (error instanceof NotVouchedError) return error
    const { name } = this.#oidc
    const isAway = error instanceof TypeError || (error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name))
    const isOfFetch = isAway || (error instanceof client.ClientError && error.code === 'OAUTH_TIMEOUT')
    if (isOfFetch) return new ProviderAwayError(`${name} does not answer (${printableLine(causeOf(error))}). Try again`, { cause: error })
    return new NotVouchedError(`${name} did not confirm this sign-in (${printableLine(causeOf(error))}). Sign in again`, { cause: error })
  }
}

/**
 * @returns the messages of an error and its cause. Omits a cause that is a SyntaxError, because
 * its message repeats the provider's answer.
 */
function causeOf(error: unknown): string {
  const isSafe = error instanceof Error && error.cause instanceof Error && !(error.cause instanceof SyntaxError)
  const cause = isSafe ? `: ${(error.cause as Error).message}` : ''
  return `${messageOf(error)}${cause}`
}

function identityOf({ claim, roles }: OidcConfig, claims: Readonly<Record<string, unknown>> & { readonly sub: string }): Identity {
  const given = claims[claim]
  const all = Array.isArray(given) ? given.slice(0, MOST_VALUES) : [given]
  const { email, preferred_username, sub } = claims
  const isConfirmed = claims['email_verified'] === true && typeof email === 'string'
  const name = isConfirmed ? email : unconfirmedName(preferred_username, sub)
  return {
    who: storableText(`oidc:${printableLine(name, LONGEST_NAME)}`),
    subject: sub.slice(0, LONGEST_NAME),
    values: all.filter((value): value is string => typeof value === 'string' && Object.hasOwn(roles, value)),
  }
}

/** @returns a name that is marked as unconfirmed. At many providers, users may choose another person's address. */
function unconfirmedName(name: unknown, subject: string): string {
  const text = typeof name === 'string' ? printableLine(name, LONGEST_UNCONFIRMED) : ''
  return text === '' ? subject : `${text} (unconfirmed, ${subject})`
}
