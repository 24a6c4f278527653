import type { Config } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import type { ClockJudge } from '../clocks/clock-watch.ts'
import type { AlarmName } from '../health/rules.ts'
import type { Condition } from './condition.ts'

/** What watchers work with in one evaluation. */
export interface WatchContext {
  readonly q: Query
  readonly config: Config
  /** By account. */
  readonly clients: ReadonlyMap<string, Pick<UpstreamClient, 'clockSkewMs'>>
  readonly clocks: ClockJudge
  readonly nowMs: number
}

/** Evaluates the alarms of one part of the product. */
export interface Watcher {
  /** All alarms that it evaluates; one for which `check` returns no condition is off. */
  readonly names: readonly AlarmName[]
  check(sight: WatchContext): Promise<readonly Condition[]>
}
