import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Account } from './accounts.ts'
import { Authorizations } from './authorizations.ts'
import { Clients } from './clients.ts'
import { Devices } from './devices.ts'
import { Sessions } from './sessions.ts'
import type { Tokens } from './tokens.ts'
import type { Unshown } from './unshown.ts'

export interface Grants {
  readonly clients: Clients
  readonly sessions: Sessions
  readonly authorizations: Authorizations
  readonly devices: Devices
}

interface GrantsOptions {
  readonly clock: Clock
  /** Random generator of this process. Another process gets other numbers. */
  readonly prng: Prng
  /** Random generator that depends only on the seed, so that client ids stay valid after a restart. */
  readonly seeded: Prng
  readonly tokens: Tokens
  readonly accounts: ReadonlyMap<string, Account>
  readonly unshown: Unshown
}

export function createGrants(options: GrantsOptions): Grants {
  const { clock, prng, unshown } = options
  const clients = new Clients({ prng: options.seeded, clock, unshown })
  const sessions = new Sessions({ ...options, prng: prng.fork('sessions') })
  const rest = { clients, sessions, clock, unshown }
  return {
    clients,
    sessions,
    authorizations: new Authorizations({ ...rest, prng: prng.fork('codes') }),
    devices: new Devices({ ...rest, prng: prng.fork('devices') }),
  }
}
