import { messageOf } from '../../base/errors.ts'
import { repeat, type Service } from '../../base/service.ts'
import { timeFromMs } from '../../model/time.ts'
import { accountTotals } from '../../store/completeness/account-totals.ts'
import type { DatabaseConfig, Db, ServiceParts } from '../../store/engine/db.ts'
import { listAccounts } from '../../store/reads/accounts.ts'
import { openReportReader } from '../../store/sqlite/report-reader.ts'
import { cacheTotals } from '../../store/upkeep/cached-totals.ts'
import { runUpkeep } from '../../store/upkeep/upkeep.ts'
import { pluralize } from '../output/text.ts'

const TASK = 'sums'
/** Delay in ms after the start, so that other work runs first. */
const AFTER_START_MS = 1_000
const MINUTE_MS = 60_000
/** The pause after a count is at least this multiple of the duration of the count. */
const SHARE = 20
const LEASE_MS = 60_000

export interface SumKeeperOptions extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly database: DatabaseConfig
}

/**
 * Counts the totals of the mirror once a minute, so that requests for a large mirror can use stored totals.
 * Only one process counts. If counting takes longer than 3 s, the process counts less often.
 */
export class SumKeeper implements Service {
  readonly name = 'sums'
  readonly #o: SumKeeperOptions

  constructor(options: SumKeeperOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, db, database, log } = this.#o
    // On SQLite, this reader has its own thread, so counting does not block other work.
    const reader = openReportReader(db, database)
    try {
      await repeat(clock, signal, AFTER_START_MS, async () => {
        const startedAt = clock.steady()
        await this.count(reader).catch((error: unknown) =>
          log.debug({ err: error }, `totals could not be counted now: ${messageOf(error)}`),
        )
        return Math.max(MINUTE_MS, (clock.steady() - startedAt) * SHARE)
      })
    } finally {
      await reader.close()
    }
  }

  /** Counts and stores the totals. Does nothing if a process has counted in this minute, or is counting now. */
  async count(reader: Pick<Db, 'read'>): Promise<'ran' | 'done' | 'held' | 'stopped'> {
    const { clock, db } = this.#o
    const turn = { slot: timeFromMs(Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS), settings: '' }
    return runUpkeep(db, TASK, turn, LEASE_MS, async (lease) => {
      const names = (await listAccounts(reader.read)).map(({ account }) => account)
      await cacheTotals(db, lease, await accountTotals(reader.read, names))
      return `counted ${pluralize(names.length, 'account')}`
    })
  }
}
