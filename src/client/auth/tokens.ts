import { TokenHolder } from '../../base/token-holder.ts'
import { LoginNeeded, mayPassLater, ServiceError } from '../errors.ts'
import type { Wire } from '../http/wire.ts'
import type { Auth } from './auth.ts'
import { exchange, fetched, type Granted } from './token-endpoint.ts'

/** What is kept of a user's grant. It is a secret: keep it where others do not read it. */
export interface StoredTokens extends Granted {
  /** Of a client that registered itself. */
  readonly clientId?: string
}

export interface TokensOptions {
  /** @returns what was stored last; null when nothing was. */
  load(): Promise<StoredTokens | null>
  /** Stores the pair durably before it resolves: the client uses it only then. */
  store(tokens: StoredTokens): Promise<void>
  readonly clientId: string
}

/**
 * A user's tokens, which outlive the process. "Refresh tokens rotate on every use": the new pair is stored before it is used, so a crash
 * after that loses nothing. One between the service's answer and the end of `store` loses the new pair; the next start then uses the old
 * access token while it lives and tries the old refresh token, which a service may still take. When it does not, LoginNeeded says so.
 */
export function tokens({ load, store, clientId }: TokensOptions): Auth {
  /** What the service gave and `store` has not taken yet. */
  let unstored: StoredTokens | null = null
  /** An access token that the service refused before its time. */
  let refused: string | null = null
  const keep = async (next: StoredTokens): Promise<StoredTokens> => {
    unstored = next
    await store(next)
    unstored = null
    return next
  }
  const renew = async (wire: Wire, old: StoredTokens): Promise<StoredTokens> => {
    if (old.refreshToken === null) throw new LoginNeeded('the access token has ended and there is no refresh token: log in again')
    const form = { grant_type: 'refresh_token', refresh_token: old.refreshToken, client_id: old.clientId ?? clientId }
    const next = await exchange(wire, form).catch((error: unknown) => {
      throw isFinal(error) ? new LoginNeeded(`the refresh token was refused: log in again (${(error as Error).message})`) : error
    })
    return await keep({ ...old, ...next, refreshToken: next.refreshToken ?? old.refreshToken })
  }
  const current = async (wire: Wire, known: StoredTokens): Promise<StoredTokens> => {
    if (wire.clock.now() < known.renewAtMs && known.accessToken !== refused) return known
    try {
      return await renew(wire, known)
    } catch (error) {
      // A refresh token is spent once: another process may have been quicker, and have stored what it got.
      const newer = error instanceof LoginNeeded ? await load() : null
      if (newer !== null && newer.refreshToken !== known.refreshToken) return await current(wire, newer)
      // It is renewed before it ends, so it is good until the service refuses it.
      if (known.accessToken === refused || known.refreshToken === null || !(error instanceof LoginNeeded || mayPassLater(error)))
        throw error
      return known
    }
  }
  const holder = new TokenHolder(async (wire: Wire) => {
    // What another process has stored meanwhile is newer than what was held here.
    const known = unstored === null ? await load() : await keep(unstored)
    if (known === null) throw new LoginNeeded('no tokens are stored: log in')
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

/** Keeps a grant in memory, for logins whose tokens nobody stores. */
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
