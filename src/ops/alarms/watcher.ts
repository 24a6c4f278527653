import type { Config } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import type { Condition } from './condition.ts'
import type { Rhythm } from './rhythm.ts'
import type { AlarmName } from './rules.ts'

/** What a look sees by. */
export interface WatchContext {
  readonly q: Query
  readonly config: Config
  /** By the name of the account. */
  readonly clients: ReadonlyMap<string, Pick<UpstreamClient, 'clockSkewMs'>>
  /** How deliveries come, by account; an account without any is missing. */
  readonly rhythms: ReadonlyMap<string, Rhythm>
  readonly nowMs: number
}

/** Looks at one part of the product. */
export interface Watcher {
  /** Every alarm that it looks after: what of these it does not mention is over. */
  readonly names: readonly AlarmName[]
  check(sight: WatchContext): Promise<readonly Condition[]>
}
