import type { Clock } from '../../base/clock.ts'
import { type ClockJudgement, judgeClocks } from '../../model/clocks.ts'
import type { Db, Query } from '../../store/engine/db.ts'
import { readClocks } from '../../store/upkeep/clocks.ts'
import type { UpstreamClient } from '../../upstream/client.ts'

export interface ClockWatchParts {
  readonly db: Db
  readonly clock: Clock
  /** By account; their answers tell the time of the service. */
  readonly clients: ReadonlyMap<string, Pick<UpstreamClient, 'clockSkewMs'>>
}

/**
 * Compares the clocks once, in a process that has not watched them. How old the newest record is says nothing then: nobody may have served.
 * @param services by account, how far the clock of its service is ahead of ours, in milliseconds.
 */
export async function compareClocks(q: Query, services: ReadonlyMap<string, number> = new Map()): Promise<ClockJudgement> {
  const { nowMs: databaseMs, recorded } = await readClocks(q)
  const seen = [...services].map(([account, aheadMs]) => ({ account, aheadMs }))
  return judgeClocks({ nowMs: q.clock.now(), databaseMs, services: seen, recorded, recordedBeforeMs: null, steppedMs: 0 })
}

/** Anybody who asks whether the clocks agree. */
export type ClockJudge = Pick<ClockWatch, 'judge'>

/** Compares the clocks of a process, the database and the services with each other and with what was recorded. */
export class ClockWatch {
  readonly #p: ClockWatchParts
  /** Difference between the wall clock and the steady clock when our clock was last confirmed, at first at the start. */
  #lead: number
  /** The newest record before this process wrote one; undefined until it is read. */
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
