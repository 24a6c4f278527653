import { TokenHolder } from '../../base/token-holder.ts'
import { LoginNeeded, mayPassLater, ServiceError } from '../errors.ts'
import type { Wire } from '../http/wire.ts'
import type { Auth } from './auth.ts'
import { exchange, fetched, type Granted } from './token-endpoint.ts'

/** A user's tokens. Store them as secrets. */
export interface StoredTokens extends Granted {
  /** The client that the tokens belong to. Default: `clientId` of `TokensOptions`. */
  readonly clientId?: string
}

export interface TokensOptions {
  load(): Promise<StoredTokens | null>
  /** Stores the tokens. Must resolve only after the tokens are durable, because the client uses them after that. */
  store(tokens: StoredTokens): Promise<void>
  readonly clientId: string
}

/**
 * Uses a user's stored tokens. A refresh token works once: each renewal returns a new pair of tokens, which is stored
 * before it is used. If the process crashes before `store` ends, the new pair is lost. The next process tries the old
 * pair, and throws LoginNeeded if the service rejects the old pair.
 */
export function tokens({ load, store, clientId }: TokensOptions): Auth {
  /** A new pair of tokens that could not be stored yet. */
  let unstored: StoredTokens | null = null
  /** The most recently rejected access token. */
  let refused: string | null = null
  const keep = async (next: StoredTokens): Promise<StoredTokens> => {
    unstored = next
    await store(next)
    unstored = null
    return next
  }
  const renew = async (wire: Wire, old: StoredTokens): Promise<StoredTokens> => {
    if (old.refreshToken === null) throw new LoginNeeded('The access token has expired, and there is no refresh token. Log in again.')
    const form = { grant_type: 'refresh_token', refresh_token: old.refreshToken, client_id: old.clientId ?? clientId }
    const next = await exchange(wire, form).catch((error: unknown) => {
      throw isFinal(error) ? new LoginNeeded(`The refresh token was rejected (${(error as Error).message}). Log in again.`) : error
    })
    return await keep({ ...old, ...next, refreshToken: next.refreshToken ?? old.refreshToken })
  }
  const current = async (wire: Wire, known: StoredTokens): Promise<StoredTokens> => {
    if (wire.clock.now() < known.renewAtMs && known.accessToken !== refused) return known
    try {
      return await renew(wire, known)
    } catch (error) {
      // The refresh token may be rejected because another process has used it and stored a new pair. Uses that pair.
      const newer = error instanceof LoginNeeded ? await load() : null
      if (newer !== null && newer.refreshToken !== known.refreshToken) return await current(wire, newer)
      // Renewal begins before the token expires. If the renewal fails, the old token is used until
      // the service rejects it.
      if (known.accessToken === refused || known.refreshToken === null || !(error instanceof LoginNeeded || mayPassLater(error)))
        throw error
      return known
    }
  }
  const holder = new TokenHolder(async (wire: Wire) => {
    // Loads the tokens again, because another process may have stored newer ones.
    const known = unstored === null ? await load() : await keep(unstored)
    if (known === null) throw new LoginNeeded('No tokens are stored. Log in.')
    return fetched(await current(wire, known), wire)
  })
  return {
    token: async (wire) => (await holder.get(wire)).token,
    refused(token) {
      refused = token
      const dropped = holder.forget(token)
      return dropped === null || dropped.refreshToken !== null
    },
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'invalid_grant'
}

/** Keeps a user's tokens in memory. */
export function remembered(first: Granted, clientId: string): Auth {
  let kept: StoredTokens = first
  return tokens({
    load: () => Promise.resolve(kept),
    store: (next) => {
      kept = next
      return Promise.resolve()
    },
    clientId,
  })
}
