import type { Clock } from '../../base/clock.ts'
import type { HttpDestination } from '../../config/config.ts'
import type { Transport } from '../transport/transport.ts'
import { type Auth, basic } from './auth.ts'
import { TokenKeeper } from './token-keeper.ts'

/** @returns the authentication that the destination's `auth` describes. It sends nothing before it is used. */
export function createAuth({ auth, timeoutMs }: Pick<HttpDestination, 'auth' | 'timeoutMs'>, transport: Transport, clock: Clock): Auth {
  if (auth === null) return fixed({})
  switch (auth.type) {
    case 'oauth2':
    case 'password':
      return new TokenKeeper(auth, transport, clock, timeoutMs)
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
