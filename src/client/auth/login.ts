import { LoginNeeded } from '../errors.ts'
import type { Wire } from '../http/wire.ts'
import type { Auth } from './auth.ts'
import type { Granted } from './token-endpoint.ts'
import { remembered, type TokensOptions, tokens } from './tokens.ts'

/** `tokens` has functions that load and store the user's tokens. By default, these tokens stay in memory only. */
export interface Login {
  readonly tokens?: Pick<TokensOptions, 'load' | 'store'>
}

/** Logs a user in if no tokens are stored, and again if the tokens no longer work. */
export function afterLogin(
  { tokens: kept }: Login,
  clientId: string | (() => string),
  login: (wire: Wire, signal?: AbortSignal) => Promise<Granted>,
): Auth {
  let grant: Auth | null = null
  let pending: Promise<Auth> | null = null
  let hasEnded = false
  const idOf = () => (typeof clientId === 'string' ? clientId : clientId())
  const begin = async (wire: Wire, signal?: AbortSignal): Promise<Auth> => {
    if (kept && !hasEnded && (await kept.load()) !== null) return tokens({ ...kept, clientId: idOf() })
    const first = await login(wire, signal)
    await kept?.store({ ...first, clientId: idOf() })
    hasEnded = false
    return kept ? tokens({ ...kept, clientId: idOf() }) : remembered(first, idOf())
  }
  /** @returns the grant, after a login if needed. Concurrent calls share one login. */
  const granted = async (wire: Wire, signal?: AbortSignal): Promise<Auth> => {
    if (grant !== null) return grant
    pending ??= begin(wire, signal).finally(() => {
      pending = null
    })
    grant = await pending
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
