import type { Clock } from '../base/clock.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from '../store/engine/db.ts'
import { areReadSince, requestReads } from '../store/reads/request-reads.ts'
import { type Compared, compareWithTruth, type Truth } from './compare.ts'

/** A replay that fails three times in a row waits a quarter of an hour. An operator would not: reads are requested again this often. */
const REQUEST_EVERY_MS = 20_000
/** Ends the wait when the reads of a submission do not end. */
const LONGEST_MS = 600_000

export interface SettleParts {
  readonly db: Db
  readonly account: string
  readonly clock: Pick<Clock, 'now'>
  /** What the service shows now. */
  readonly truth: () => Promise<Truth>
  /** Waits a moment, and shows what arrived meanwhile. */
  readonly look: () => Promise<void>
  /** Hears how many submissions are read again by request. */
  readonly onRequest: (submissions: number) => void
}

/**
 * Waits until the mirror agrees with the service, in which nothing happens any more. A submission that differs is given the time to read it
 * whole, twice: a read that ends now may have begun before the last change.
 * @returns the last comparison: without differences, or with those that reading did not mend.
 */
export async function settle({ db, account, clock, truth, look, onRequest }: SettleParts): Promise<Compared[]> {
  const beganMs = clock.now()
  let since = timeFromMs(beganMs)
  let requestAtMs = beganMs + REQUEST_EVERY_MS
  for (let reads = 0; ; ) {
    await look()
    const compared = await compareWithTruth(db.read, account, await truth())
    const ids = [...new Set(compared.flatMap(({ differences }) => differences.map(({ submissionId }) => submissionId)))]
    const now = clock.now()
    if (ids.length === 0 || reads === 2 || now - beganMs > LONGEST_MS) return compared
    if (await areReadSince(db.read, account, ids, since)) {
      reads += 1
      since = timeFromMs(now)
    } else if (now >= requestAtMs) {
      await requestReads(db, account, ids)
      onRequest(ids.length)
      requestAtMs = now + REQUEST_EVERY_MS
    }
  }
}
