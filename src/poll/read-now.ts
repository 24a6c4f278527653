import PQueue from 'p-queue'
import { doublingMs } from '../base/clock.ts'
import { doClaimed } from '../base/due-loop.ts'
import { waitForPause } from './account-pauses.ts'
import { slotsAt } from './slots.ts'
import type { FailedRead, SyncOptions } from './sync-options.ts'

const MAX_ATTEMPTS = 3
const RETRY_BASE_MS = 1_000
const HELD_MS = 200

/** Why a read failed. `isFinal`: a retry would fail too. */
export interface Failure {
  readonly reason: string
  readonly isFinal: boolean
}

/** A read that a command requests, even if the read isn't due. */
export interface WantedRead<Claim> {
  readonly of: Omit<FailedRead, 'reason'>
  /** @returns null if another process has the read, or if the read no longer exists. */
  claim(): Promise<Claim | null>
  /** @returns false if the read no longer exists, for example after a purge. */
  exists(): Promise<boolean>
  /** Runs the read and stores its result. @returns null on success. */
  carryOut(claim: Claim): Promise<Failure | null>
  release(claim: Claim): Promise<unknown>
}

/**
 * Runs reads immediately, within the account's rate. If another process has claimed a read, waits until that process
 * releases the read.
 * @param stopReason returns why no further read is allowed; null: reads are allowed.
 * @returns the failed reads.
 * @throws BusyError if the service requests a pause of more than a minute; database errors, after the other reads
 * in flight ended.
 */
export async function readNow<Claim>(
  o: SyncOptions,
  wanted: readonly WantedRead<Claim>[],
  signal: AbortSignal,
  stopReason: () => string | null = () => null,
): Promise<FailedRead[]> {
  const { client, clock, log } = o
  const failures: FailedRead[] = []
  const queue = new PQueue({ concurrency: slotsAt(client.rate(), o.concurrency) })
  const over = new AbortController()
  const ending = AbortSignal.any([signal, over.signal])
  // After one read throws, the other reads only finish their current attempt.
  const fail = (error: unknown) => {
    over.abort()
    throw error
  }
  const attempt = async (one: WantedRead<Claim>): Promise<Failure | null | 'held'> => {
    const stopped = stopReason()
    if (stopped !== null) return { reason: stopped, isFinal: true }
    if (ending.aborted) return null
    await waitForPause(o, signal)
    const claim = await one.claim()
    if (claim === null) return (await one.exists()) ? 'held' : null
    const work = () => one.carryOut(claim)
    const end = await doClaimed(log, work, () => one.release(claim))
    return end === 'lost' ? 'held' : end
  }
  const read = async (one: WantedRead<Claim>): Promise<void> => {
    for (let attempts = 0; ; ) {
      const end = await queue.add(() => attempt(one).catch(fail))
      if (end === null || signal.aborted) return
      if (end === 'held') {
        await clock.sleep(HELD_MS, ending)
        continue
      }
      attempts += 1
      if (end.isFinal || attempts === MAX_ATTEMPTS || stopReason() !== null) return void failures.push({ ...one.of, reason: end.reason })
      await waitForPause(o, signal).catch(fail)
      await clock.sleep(Math.max(doublingMs(attempts - 1, RETRY_BASE_MS), client.waitMs()), ending)
    }
  }
  for (const end of await Promise.allSettled(wanted.map(read))) if (end.status === 'rejected') throw end.reason
  return failures
}
