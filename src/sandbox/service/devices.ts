import type { Account, User } from './accounts.ts'
import type { AuthorizationsOptions } from './authorizations.ts'
import { OAuthError } from './refusal.ts'
import type { Scope } from './scopes.ts'
import type { Approval, TokenPair } from './sessions.ts'

interface Device {
  readonly deviceCode: string
  readonly userCode: string
  readonly clientId: string
  readonly scopes: readonly Scope[]
  readonly expiresAtMs: number
  decision: Approval | 'denied' | null
  intervalSeconds: number
  polledAtMs: number | null
}

/** Letters of user codes, without vowels and Y, so that no code spells a word (RFC 8628, 6.1). */
const LETTERS = [...'BCDFGHJKLMNPQRSTVWXZ']
/** A client that polls too early must add this to its interval (RFC 8628, 3.5). */
const SLOW_DOWN_SECONDS = 5

/** How long an expired code is remembered, in ms. After that, the code counts as unknown. */
const KEPT_MS = 3_600_000

export class Devices {
  readonly #options: AuthorizationsOptions
  readonly #devices = new Map<string, Device>()

  constructor(options: AuthorizationsOptions) {
    this.#options = options
  }

  /**
   * Starts the authorization of a device.
   * @throws OAuthError if the variant `device_clients` is `registered` and the client isn't registered.
   */
  start(clientId: string, scopes: readonly Scope[]): Device & { readonly expiresInSeconds: number } {
    const { clients, clock, prng, unshown } = this.#options
    if (unshown.word('device_clients') === 'registered' && !clients.read(clientId))
      throw new OAuthError('invalid_client', 'client_id was not issued by /oauth/register')
    for (const [code, { expiresAtMs }] of this.#devices) if (expiresAtMs <= clock.now() - KEPT_MS) this.#devices.delete(code)
    const letters = Array.from({ length: 8 }, () => prng.pick(LETTERS)).join('')
    const expiresInSeconds = unshown.number('device_lifetime_s')
    const device: Device = {
      deviceCode: `odc_${prng.uuid()}${prng.uuid()}`.replaceAll('-', ''),
      userCode: `${letters.slice(0, 4)}-${letters.slice(4)}`,
      clientId,
      scopes,
      expiresAtMs: clock.now() + expiresInSeconds * 1000,
      decision: null,
      intervalSeconds: unshown.number('device_interval_s'),
      polledAtMs: null,
    }
    this.#devices.set(device.deviceCode, device)
    return { ...device, expiresInSeconds }
  }

  /**
   * Approves or denies a device.
   * @param userCode the code in upper or lower case, with or without separators.
   * @throws RangeError if no device with this code waits; OAuthError if the brokerage allows none of the scopes.
   */
  decide(userCode: string, account: Account, user: User, isApproved: boolean): void {
    const plain = (code: string) => code.replace(/[^a-z]/gi, '').toUpperCase()
    const isMeant = (device: Device) => plain(device.userCode) === plain(userCode) && device.expiresAtMs > this.#options.clock.now()
    const device = [...this.#devices.values()].find((other) => isMeant(other) && other.decision === null)
    if (!device) throw new RangeError(`no device waits under the code ${userCode}`)
    device.decision = isApproved ? this.#options.sessions.approve(account, user, device.clientId, device.scopes) : 'denied'
  }

  waiting(): string[] {
    const now = this.#options.clock.now()
    return [...this.#devices.values()].filter((one) => one.decision === null && one.expiresAtMs > now).map((one) => one.userCode)
  }

  toState(): Device[] {
    return [...this.#devices.values()]
  }

  fromState(state: readonly Device[]): void {
    for (const device of state) this.#devices.set(device.deviceCode, device)
  }

  /**
   * @returns the tokens of an approved device.
   * @throws OAuthError if the device isn't approved, its tokens were already issued, or its code is unknown, expired,
   * or another client's.
   */
  poll(deviceCode: string, clientId: string): TokenPair {
    const now = this.#options.clock.now()
    const device = this.#devices.get(deviceCode)
    if (!device || device.clientId !== clientId)
      throw new OAuthError('invalid_grant', 'The device code is unknown, used or of another client')
    if (device.expiresAtMs <= now) throw new OAuthError('expired_token', 'The device code has expired')
    if (device.decision === 'denied') throw new OAuthError('access_denied', 'The broker did not approve')
    if (device.decision === null) {
      const isEarly = device.polledAtMs !== null && now - device.polledAtMs < device.intervalSeconds * 1000
      device.polledAtMs = now
      if (!isEarly) throw new OAuthError('authorization_pending', 'The broker has not decided yet')
      device.intervalSeconds += SLOW_DOWN_SECONDS
      throw new OAuthError('slow_down', `Poll every ${device.intervalSeconds} seconds`)
    }
    this.#devices.delete(deviceCode)
    return this.#options.sessions.open(device.decision)
  }
}
