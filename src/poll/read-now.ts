import PQueue from 'p-queue'
import { doublingMs } from '../base/clock.ts'
import { doClaimed } from '../base/due-loop.ts'
import { waitForPause } from './account-pauses.ts'
import { slotsAt } from './slots.ts'
import type { FailedRead, SyncOptions } from './sync-options.ts'

/** Attempts of a failing read, with doubling waits, before it is reported. */
const MAX_ATTEMPTS = 3
const RETRY_BASE_MS = 1_000
/** Wait before claiming again what another process reads. */
const HELD_MS = 200

/** Why a read failed. `isFinal`: another attempt now would fail as well. */
export interface Failure {
  readonly reason: string
  readonly isFinal: boolean
}

/** A read that a command makes now, due or not. */
export interface WantedRead<Claim> {
  readonly of: Omit<FailedRead, 'reason'>
  /** @returns null while another process makes the read, and when the read no longer exists. */
  claim(): Promise<Claim | null>
  /** Whether the read still exists: a purge ends it. */
  exists(): Promise<boolean>
  /** Makes the read and settles it. @returns null when it did not fail. */
  carryOut(claim: Claim): Promise<Failure | null>
  release(claim: Claim): Promise<unknown>
}

/**
 * Makes reads now, within the account's rate. One that another process has claimed is awaited and then made, too.
 * @param stopReason why no further read may be made; null as long as they may.
 * @returns the reads that failed.
 * @throws BusyError when the service asks for a long pause; errors of the database, once the other reads in flight have ended.
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
  // When one fails, the others finish their current attempt and begin no other.
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
