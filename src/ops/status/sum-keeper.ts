import { messageOf } from '../../base/errors.ts'
import type { Service } from '../../base/service.ts'
import { timeFromMs } from '../../model/time.ts'
import { sumUp } from '../../store/completeness/sum-up.ts'
import type { DatabaseConfig, Db, ServiceParts } from '../../store/engine/db.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { openReportReader } from '../../store/sqlite/report-reader.ts'
import { keepSums } from '../../store/upkeep/kept-sums.ts'
import { claimUpkeep, endUpkeep } from '../../store/upkeep/upkeep.ts'
import { pluralize } from '../output/text.ts'

const TASK = 'sums'
/** Other work goes first after a start. */
const AFTER_START_MS = 1_000
const MINUTE_MS = 60_000
/** Of all time at most one part in so many is spent with counting. */
const SHARE = 20
const LEASE_MS = 60_000

export interface SumKeeperOptions extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly database: DatabaseConfig
}

/**
 * Counts once a minute what sums up all of the mirror, for all who ask: a request never does, unless there is little to count. One of several
 * processes does it. Where counting takes longer than three seconds it is done less often.
 */
export class SumKeeper implements Service {
  readonly name = 'sums'
  readonly #o: SumKeeperOptions

  constructor(options: SumKeeperOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, db, database, log } = this.#o
    // On SQLite in a thread of its own: nothing else waits for it.
    const reader = openReportReader(db, database)
    try {
      await clock.sleep(AFTER_START_MS, signal)
      while (!signal.aborted) {
        const startedAt = clock.steady()
        await this.count(reader).catch((error: unknown) => log.debug({ err: error }, `sums are counted later: ${messageOf(error)}`))
        await clock.sleep(Math.max(MINUTE_MS, (clock.steady() - startedAt) * SHARE), signal)
      }
    } finally {
      await reader.close()
    }
  }

  /** Counts and keeps them, unless it is done for this minute, or another process is at it. @param reader what it is counted by. */
  async count(reader: Pick<Db, 'read'>): Promise<'kept' | 'done' | 'held'> {
    const { clock, db } = this.#o
    const turn = { slot: timeFromMs(Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS), settings: '' }
    const lease = await claimUpkeep(db, TASK, turn, LEASE_MS)
    if (typeof lease === 'string') return lease
    let note: string | null = null
    try {
      const names = (await listAccounts(reader.read)).map(({ account }) => account)
      await keepSums(db, lease, await sumUp(reader.read, names))
      note = `counted ${pluralize(names.length, 'account')}`
      return 'kept'
    } finally {
      await endUpkeep(db, lease, note)
    }
  }
}
