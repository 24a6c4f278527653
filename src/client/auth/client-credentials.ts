import type { Wire } from '../http/wire.ts'
import type { Auth } from './auth.ts'
import { exchange, type Granted } from './token-endpoint.ts'

/** A machine credential of the brokerage. */
export interface ClientCredentials {
  /** `bac_…` */
  readonly clientId: string
  /** `bas_…` */
  readonly clientSecret: string
  /** Scopes, separated by spaces; all of the key's when left out. */
  readonly scope?: string
}

/** Exchanges a machine credential, once for all who wait; it gets no refresh token, so it is exchanged again (traps 39, 40). */
export function clientCredentials({ clientId, clientSecret, scope }: ClientCredentials): Auth {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret, scope }
  let held: Granted | null = null
  let asked: Promise<Granted> | null = null
  const ask = async (wire: Wire): Promise<Granted> => {
    try {
      held = await exchange(wire, form)
      return held
    } finally {
      asked = null
    }
  }
  return {
    async token(wire) {
      if (held !== null && wire.clock.now() < held.renewAtMs) return held.accessToken
      asked ??= ask(wire)
      return (await asked).accessToken
    },
    refused(token) {
      if (held?.accessToken === token) held = null
      return true
    },
  }
}
