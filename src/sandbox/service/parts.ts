import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import type { Prng } from '../world/prng.ts'
import type { Story } from '../world/story.ts'
import type { World } from '../world/world.ts'
import type { Account } from './accounts.ts'
import type { ActivityLog } from './activity-log.ts'
import type { Authority } from './authority.ts'
import type { Deliveries } from './deliveries.ts'
import type { FaultInjector } from './faults.ts'
import type { Grants } from './grants.ts'
import type { Life } from './life.ts'
import type { SandboxOptions } from './options.ts'
import type { Schedule } from './schedule.ts'
import type { StateFile } from './state-file.ts'
import type { Tokens } from './tokens.ts'
import type { Unshown } from './unshown.ts'

export interface SandboxParts {
  readonly app: FastifyInstance
  readonly origin: string
  readonly clock: Clock
  readonly prng: Prng
  readonly accounts: ReadonlyMap<string, Account>
  readonly world: World
  readonly story: Story
  readonly tokens: Tokens
  readonly faults: FaultInjector
  readonly deliveries: Deliveries
  readonly activity: ActivityLog
  readonly schedule: Schedule
  readonly life: Life
  readonly authority: Authority
  readonly grants: Grants
  readonly unshown: Unshown
  /** Null if the state isn't saved. */
  readonly stateFile: StateFile | null
  readonly options: SandboxOptions
}

/** All parts except the server. */
export type BuiltParts = Omit<SandboxParts, 'app' | 'origin'>
