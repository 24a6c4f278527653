import { messageOf } from '../../base/errors.ts'
import { repeat, type Service } from '../../base/service.ts'
import { timeFromMs } from '../../model/time.ts'
import { sumUp } from '../../store/completeness/sum-up.ts'
import type { DatabaseConfig, Db, ServiceParts } from '../../store/engine/db.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { openReportReader } from '../../store/sqlite/report-reader.ts'
import { keepSums } from '../../store/upkeep/kept-sums.ts'
import { runUpkeep } from '../../store/upkeep/upkeep.ts'
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
      await repeat(clock, signal, AFTER_START_MS, async () => {
        const startedAt = clock.steady()
        await this.count(reader).catch((error: unknown) => log.debug({ err: error }, `sums are counted later: ${messageOf(error)}`))
        return Math.max(MINUTE_MS, (clock.steady() - startedAt) * SHARE)
      })
    } finally {
      await reader.close()
    }
  }

  /** Counts and keeps them, unless it is done for this minute, or another process is at it. @param reader what it is counted by. */
  async count(reader: Pick<Db, 'read'>): Promise<'ran' | 'done' | 'held' | 'stopped'> {
    const { clock, db } = this.#o
    const turn = { slot: timeFromMs(Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS), settings: '' }
    return runUpkeep(db, TASK, turn, LEASE_MS, async (lease) => {
      const names = (await listAccounts(reader.read)).map(({ account }) => account)
      await keepSums(db, lease, await sumUp(reader.read, names))
      return `counted ${pluralize(names.length, 'account')}`
    })
  }
}
