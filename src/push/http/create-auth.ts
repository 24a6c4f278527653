import type { Clock } from '../../base/clock.ts'
import type { HttpDestination } from '../../config/config.ts'
import type { Transport } from '../transport/transport.ts'
import { type Auth, basic } from './auth.ts'
import { logIn } from './login.ts'
import type { Templates } from './templates.ts'
import { exchangeToken } from './token-endpoint.ts'
import { TokenKeeper } from './token-keeper.ts'

/** What authentication is made with. */
interface AuthParts {
  readonly transport: Transport
  readonly clock: Clock
  readonly templates: Templates
}

/** @returns the authentication that the destination's `auth` describes. It sends nothing before it is used. */
export function createAuth(
  destination: Pick<HttpDestination, 'auth' | 'timeoutMs' | 'settings'>,
  { transport, clock, templates }: AuthParts,
): Auth {
  const { auth, timeoutMs } = destination
  if (auth === null) return fixed({})
  switch (auth.type) {
    case 'oauth2':
    case 'password':
      return new TokenKeeper(() => exchangeToken(auth, transport, timeoutMs), clock)
    case 'login':
      return new TokenKeeper(() => logIn(auth, destination, transport, templates), clock, auth.header.toLowerCase())
    case 'basic':
      return fixed({ authorization: basic(auth.username, auth.password.reveal()) })
    case 'bearer':
      return fixed({ authorization: `Bearer ${auth.token.reveal()}` })
    case 'header':
      return fixed({ [auth.name.toLowerCase()]: auth.value.reveal() })
  }
}

function fixed(headers: Readonly<Record<string, string>>): Auth {
  return { headers: () => Promise.resolve({ headers }), renew: () => false }
}
