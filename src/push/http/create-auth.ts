import type { Clock } from '../../clock.ts'
import type { AuthConfig } from '../../config.ts'
import type { Transport } from '../transport.ts'
import type { Auth } from './auth.ts'
import { basic } from './basic.ts'
import { TokenKeeper } from './token-keeper.ts'

/** @returns the way of `config`; it asks for nothing before it is used. Null: requests bear no credentials. */
export function createAuth(config: AuthConfig | null, transport: Transport, clock: Clock): Auth {
  if (config === null) return fixed({})
  switch (config.type) {
    case 'oauth2':
    case 'password':
      return new TokenKeeper(config, transport, clock)
    case 'basic':
      return fixed({ authorization: basic(config.username, config.password.reveal()) })
    case 'bearer':
      return fixed({ authorization: `Bearer ${config.token.reveal()}` })
    case 'header':
      return fixed({ [config.name.toLowerCase()]: config.value.reveal() })
  }
}

function fixed(headers: Readonly<Record<string, string>>): Auth {
  return { headers: () => Promise.resolve({ headers }), renew: () => false }
}
