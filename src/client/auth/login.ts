import { LoginNeeded } from '../errors.ts'
import type { Wire } from '../http/wire.ts'
import type { Auth } from './auth.ts'
import type { Granted } from './token-endpoint.ts'
import { remembered, type TokensOptions, tokens } from './tokens.ts'

/** Where a login's tokens are kept; in memory alone when left out. */
export interface Login {
  readonly tokens?: Pick<TokensOptions, 'load' | 'store'>
}

/** Logs in when no tokens are stored as the first one is asked for, and again when the grant has ended; else it is a user's grant like any other. */
export function afterLogin(
  { tokens: kept }: Login,
  clientId: string | (() => string),
  login: (wire: Wire, signal?: AbortSignal) => Promise<Granted>,
): Auth {
  let grant: Auth | null = null
  let asked: Promise<Auth> | null = null
  /** What is stored is no use any more. */
  let hasEnded = false
  const idOf = () => (typeof clientId === 'string' ? clientId : clientId())
  const begin = async (wire: Wire, signal?: AbortSignal): Promise<Auth> => {
    if (kept && !hasEnded && (await kept.load()) !== null) return tokens({ ...kept, clientId: idOf() })
    const first = await login(wire, signal)
    await kept?.store({ ...first, clientId: idOf() })
    hasEnded = false
    return kept ? tokens({ ...kept, clientId: idOf() }) : remembered(first, idOf())
  }
  /** The grant, for which a person logs in once for all who ask. */
  const granted = async (wire: Wire, signal?: AbortSignal): Promise<Auth> => {
    if (grant !== null) return grant
    asked ??= begin(wire, signal).finally(() => {
      asked = null
    })
    grant = await asked
    return grant
  }
  return {
    async token(wire, signal) {
      const known = await granted(wire, signal)
      try {
        return await known.token(wire, signal)
      } catch (error) {
        if (!(error instanceof LoginNeeded)) throw error
        if (grant === known) [grant, hasEnded] = [null, true]
        return await (await granted(wire, signal)).token(wire, signal)
      }
    },
    refused: (token) => grant?.refused(token) ?? false,
  }
}
