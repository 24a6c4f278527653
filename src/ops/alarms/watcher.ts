import type { Config } from '../../config/config.ts'
import type { Query } from '../../store/engine/db.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import type { ClockJudge } from '../clocks/clock-watch.ts'
import type { Problem } from '../health/problem.ts'
import type { AlarmName } from '../health/problems.ts'

/** What a watcher gets for one evaluation. */
export interface WatchContext {
  readonly q: Query
  readonly config: Config
  /** Clients by account name. */
  readonly clients: ReadonlyMap<string, Pick<UpstreamClient, 'clockSkewMs'>>
  readonly clocks: ClockJudge
  readonly nowMs: number
}

export interface Watcher {
  /** Alarms that this watcher evaluates. An alarm for which `check` returns no problem is off. */
  readonly names: readonly AlarmName[]
  check(context: WatchContext): Promise<readonly Problem[]>
}
