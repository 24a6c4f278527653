import type { Clock } from '../base/clock.ts'
import { timeFromMs } from '../model/time.ts'
import type { Db } from '../store/engine/db.ts'
import { areReadSince, requestReads } from '../store/reads/request-reads.ts'
import { type Compared, compareWithTruth, type Truth } from './compare.ts'

/**
 * Interval in ms at which reads are requested again. Without a new request, a full re-read that failed three times
 * would wait 15 min.
 */
const REQUEST_EVERY_MS = 20_000
const LONGEST_MS = 600_000

interface SettleParts {
  readonly db: Db
  readonly account: string
  readonly clock: Pick<Clock, 'now'>
  /** Returns the data that the service shows now. */
  readonly truth: () => Promise<Truth>
  readonly wait: () => Promise<void>
  /** Called with the number of submissions whose reads are requested again. */
  readonly onRequest: (submissions: number) => void
}

/**
 * Waits until the mirror agrees with the service. The service's data must no longer change. Stops waiting after two
 * full re-reads, because the second re-read certainly began after the last change. Also stops after `LONGEST_MS`.
 * @returns the last comparison, with the differences that remain.
 */
export async function settle({ db, account, clock, truth, wait, onRequest }: SettleParts): Promise<Compared[]> {
  const beganMs = clock.now()
  let since = timeFromMs(beganMs)
  let requestAtMs = beganMs + REQUEST_EVERY_MS
  for (let reads = 0; ; ) {
    await wait()
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
