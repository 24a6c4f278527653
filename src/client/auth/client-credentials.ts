import { TokenHolder } from '../../base/token-holder.ts'
import type { Wire } from '../http/wire.ts'
import type { Auth } from './auth.ts'
import { exchange, fetched } from './token-endpoint.ts'

export interface ClientCredentials {
  /** Begins with `bac_`. */
  readonly clientId: string
  /** Begins with `bas_`. */
  readonly clientSecret: string
  /** Scopes, separated by spaces. Without them, the token gets all scopes of the key. */
  readonly scope?: string
}

/**
 * Exchanges a machine credential for a token, which concurrent calls share. Renewal repeats the exchange, because this
 * grant has no refresh tokens (traps 39, 40).
 */
export function clientCredentials({ clientId, clientSecret, scope }: ClientCredentials): Auth {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope }
  const holder = new TokenHolder(async (wire: Wire) => fetched(await exchange(wire, form), wire))
  return {
    async token(wire) {
      try {
        return (await holder.get(wire)).token
      } catch (error) {
        // Renewal begins before the token expires. If the renewal fails, the old token is used until
        // the service rejects it.
        if (holder.held === null) throw error
        return holder.held.token
      }
    },
    refused(token) {
      holder.forget(token)
      return true
    },
  }
}
