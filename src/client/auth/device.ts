import { LoginNeeded, mayPassLater, ServiceError } from '../errors.ts'
import type { Wire } from '../http/wire.ts'
import { type DeviceAuthorization, deviceAuthorizationSchema } from '../schemas/oauth.ts'
import type { Auth } from './auth.ts'
import { afterLogin, type Login } from './login.ts'
import { exchange, type Granted, postForm } from './token-endpoint.ts'

const INTERVAL_S = 5
const EXPIRES_S = 600

export interface DeviceLogin extends Login {
  readonly clientId: string
  readonly scope?: string
  /** Shows the user the address to open and the code to enter. */
  prompt(device: DeviceAuthorization): void | Promise<void>
}

/** Logs a user in with a code that the user approves in any browser, while the client polls (RFC 8628). */
export function deviceLogin(options: DeviceLogin): Auth {
  return afterLogin(options, options.clientId, (wire, signal) => approved(wire, options, signal))
}

async function approved(wire: Wire, { clientId, scope, prompt }: DeviceLogin, signal?: AbortSignal): Promise<Granted> {
  const device = await postForm(wire, '/oauth/device_authorization', { client_id: clientId, scope }, deviceAuthorizationSchema, signal)
  await prompt(device)
  const endsAt = wire.clock.now() + (device.expires_in ?? EXPIRES_S) * 1000
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: device.device_code, client_id: clientId }
  for (let everyS = device.interval ?? INTERVAL_S; wire.clock.now() < endsAt; ) {
    await wire.clock.sleep(everyS * 1000, signal)
    signal?.throwIfAborted()
    try {
      return await exchange(wire, form, signal)
    } catch (error) {
      const { code, retryAfterS } = error instanceof ServiceError ? error : { code: null, retryAfterS: null }
      if (code === 'access_denied') throw new LoginNeeded('The device was not approved. Log in again.')
      if (code === 'expired_token') break
      if (code === 'authorization_pending') continue
      // After `slow_down` or a temporary failure, the code stays valid. Polling continues at a longer
      // interval (RFC 8628, 3.5).
      if (code !== 'slow_down' && !mayPassLater(error)) throw error
      everyS = Math.max(everyS + INTERVAL_S, retryAfterS ?? 0)
    }
  }
  throw new LoginNeeded('The device was not approved in time. Log in again.')
}
