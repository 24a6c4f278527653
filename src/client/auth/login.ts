import type { Wire } from '../http/wire.ts'
import type { Auth } from './auth.ts'
import type { Granted } from './token-endpoint.ts'
import { remembered, type TokensOptions, tokens } from './tokens.ts'

/** Where a login's tokens are kept; in memory alone when left out. */
export interface Login {
  readonly tokens?: Pick<TokensOptions, 'load' | 'store'>
}

/** Logs in when the first token is asked for and none is stored; after that it is a user's grant like any other. */
export function afterLogin(
  { tokens: kept }: Login,
  clientId: string | (() => string),
  login: (wire: Wire, signal?: AbortSignal) => Promise<Granted>,
): Auth {
  let grant: Auth | null = null
  let asked: Promise<Auth> | null = null
  const idOf = () => (typeof clientId === 'string' ? clientId : clientId())
  const begin = async (wire: Wire, signal?: AbortSignal): Promise<Auth> => {
    try {
      if (kept && (await kept.load()) !== null) grant = tokens({ ...kept, clientId: idOf() })
      else {
        const first = await login(wire, signal)
        await kept?.store({ ...first, clientId: idOf() })
        grant = kept ? tokens({ ...kept, clientId: idOf() }) : remembered(first, idOf())
      }
      return grant
    } finally {
      asked = null
    }
  }
  return {
    async token(wire, signal) {
      asked ??= grant === null ? begin(wire, signal) : Promise.resolve(grant)
      const known = await asked
      asked = null
      return await known.token(wire, signal)
    },
    refused: (token) => grant?.refused(token) ?? false,
  }
}
