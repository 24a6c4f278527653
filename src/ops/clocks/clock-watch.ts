import type { Clock } from '../../base/clock.ts'
import { type ClockJudgement, judgeClocks } from '../../model/clocks.ts'
import type { Db, Query } from '../../store/engine/db.ts'
import { readClocks } from '../../store/upkeep/clocks.ts'
import type { UpstreamClient } from '../../upstream/client.ts'

export interface ClockWatchParts {
  readonly db: Db
  readonly clock: Clock
  /** Clients by account name. Each client knows how far the service's clock differs from ours. */
  readonly clients: ReadonlyMap<string, Pick<UpstreamClient, 'clockSkewMs'>>
}

/**
 * Compares the clocks once, in a process without a running `ClockWatch`.
 * Skips two checks: how old the newest recorded time is, and whether this machine's clock was set.
 * @param services how far each service's clock is ahead of ours in ms, by account.
 */
export async function compareClocks(q: Query, services: ReadonlyMap<string, number> = new Map()): Promise<ClockJudgement> {
  const { nowMs: databaseMs, recorded } = await readClocks(q)
  const seen = [...services].map(([account, aheadMs]) => ({ account, aheadMs }))
  return judgeClocks({ nowMs: q.clock.now(), databaseMs, services: seen, recorded, recordedBeforeMs: null, steppedMs: 0 })
}

export type ClockJudge = Pick<ClockWatch, 'judge'>

/** Compares this process's clock with the database server, the services, and recorded times. */
export class ClockWatch {
  readonly #p: ClockWatchParts
  /** Wall clock minus steady clock, in ms. Measured at the start, and again whenever a service confirms our clock. */
  #lead: number
  /**
   * Newest recorded time at the first comparison, in ms since the epoch.
   * null: no time was recorded, or a service has confirmed our clock. undefined: no comparison yet.
   */
  #before: number | null | undefined

  constructor(parts: ClockWatchParts) {
    this.#p = parts
    this.#lead = this.#leadNow()
  }

  async judge(): Promise<ClockJudgement> {
    const { db, clock, clients } = this.#p
    const { nowMs: databaseMs, recorded } = await readClocks(db.read)
    if (this.#before === undefined) this.#before = recorded.length === 0 ? null : Math.max(...recorded.map(({ atMs }) => atMs))
    const services = [...clients].flatMap(([account, client]) => {
      const aheadMs = client.clockSkewMs()
      return aheadMs === null ? [] : [{ account, aheadMs }]
    })
    const steppedMs = this.#leadNow() - this.#lead
    const judgement = judgeClocks({ nowMs: clock.now(), databaseMs, services, recorded, recordedBeforeMs: this.#before, steppedMs })
    if (judgement.isConfirmed) {
      this.#lead = this.#leadNow()
      this.#before = null
    }
    return judgement
  }

  #leadNow(): number {
    return this.#p.clock.now() - this.#p.clock.steady()
  }
}
