import type { Clock } from '../../base/clock.ts'
import type { HttpDestination } from '../../config/config.ts'
import { settingsDigest } from '../../config/same-settings.ts'
import type { Db } from '../../store/engine/db.ts'
import { PushTokens } from '../../store/outbox/push-tokens.ts'
import type { Transport } from '../transport/transport.ts'
import { type Exchange, StoredToken } from './stored-token.ts'
import type { Templates } from './templates.ts'
import { exchangeToken, logIn } from './token-endpoint.ts'
import { type Auth, basic, TokenKeeper } from './token-keeper.ts'

interface AuthParts {
  readonly transport: Transport
  readonly clock: Clock
  readonly templates: Templates
  /** Stores refresh tokens. If missing, refresh tokens aren't used. */
  readonly db?: Db | undefined
}

type Authenticated = Pick<HttpDestination, 'name' | 'auth' | 'timeoutMs' | 'settings'>

/**
 * A process requests the next token under a lease. The lease lasts for the timeouts of two requests (a refresh, then a
 * login), plus this many ms.
 */
const LEASE_MS = 10_000

/** @returns the authentication for the destination's `auth`. Sends nothing before first use. */
export function createAuth(destination: Authenticated, parts: AuthParts): Auth {
  const { auth, timeoutMs } = destination
  const { transport, templates } = parts
  if (auth === null) return fixed({})
  switch (auth.type) {
    case 'oauth2':
    case 'password':
      return keeper(destination, parts, (refreshToken) => exchangeToken(auth, transport, timeoutMs, refreshToken), auth.refresh)
    case 'login': {
      const exchange: Exchange = (refreshToken) => logIn(auth, destination, transport, templates, refreshToken)
      return keeper(destination, parts, exchange, auth.refresh !== null, auth.header.toLowerCase())
    }
    case 'basic':
      return fixed({ authorization: basic(auth.username, auth.password.reveal()) })
    case 'bearer':
      return fixed({ authorization: `Bearer ${auth.token.reveal()}` })
    case 'header':
      return fixed({ [auth.name.toLowerCase()]: auth.value.reveal() })
  }
}

function keeper(
  { name, auth, settings, timeoutMs }: Authenticated,
  { clock, db }: AuthParts,
  exchange: Exchange,
  refreshes: boolean,
  header?: string,
): Auth {
  if (!refreshes || db === undefined) return new TokenKeeper(() => exchange(null), clock, header)
  // Stored tokens have this digest. If the credentials or settings change, tokens with the earlier digest aren't used.
  const tokens = new PushTokens(db, name, settingsDigest([auth, settings]), 2 * timeoutMs + LEASE_MS)
  const stored = new StoredToken(exchange, tokens, clock, timeoutMs)
  return new TokenKeeper(() => stored.next(), clock, header)
}

function fixed(headers: Readonly<Record<string, string>>): Auth {
  return { headers: () => Promise.resolve({ headers }), renew: () => false }
}
