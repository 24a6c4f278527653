import PQueue from 'p-queue'
import { doClaimed } from '../base/due-loop.ts'
import type { IdRead, ReadKind } from '../model/reads.ts'
import { timeFromMs } from '../model/time.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { claimExtraRead, releaseExtraRead, scheduleExtraReads } from '../store/reads/extra-reads.ts'
import { claimIds, idError, listIdsOf, releaseId } from '../store/reads/known-ids.ts'
import { waitForPause } from './account-pauses.ts'
import { carryOutExtraRead, namesOf } from './extra-reads.ts'
import { carryOutIdRead } from './id-read.ts'
import { slotsAt } from './slots.ts'
import type { FailedRead, SyncOptions } from './sync-options.ts'

/** Attempts of a failing read before it is reported. */
const MAX_ATTEMPTS = 3
const RETRY_BASE_MS = 1_000
/** Wait before claiming again what another process reads. */
const HELD_MS = 200

/**
 * Reads now what has an id of its own and was named for these submissions: bind requests, policies, insureds, and what their answers name.
 * @param submissionIds known ones; `['']` for ids that were named for none.
 * @param off reads that are not made.
 */
export async function syncIds(
  o: SyncOptions,
  submissionIds: readonly string[],
  off: ReadonlySet<ReadKind>,
  signal: AbortSignal,
): Promise<FailedRead[]> {
  const { account, db } = o
  const failures: FailedRead[] = []
  const done = new Set<string>()
  while (!signal.aborted) {
    const known = await listIdsOf(db.read, account, submissionIds)
    const left = known.filter(({ kind, id }) => !off.has(kind) && !done.has(`${kind} ${id}`))
    if (left.length === 0) break
    const queue = new PQueue({ concurrency: slotsAt(o.client.rate(), o.concurrency) })
    for (const one of left) done.add(`${one.kind} ${one.id}`)
    const ends = await Promise.allSettled(left.map((one) => queue.add(async () => failures.push(...(await syncId(o, one, signal))))))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
  return failures
}

async function syncId(o: SyncOptions, one: { readonly kind: IdRead; readonly id: string }, signal: AbortSignal): Promise<FailedRead[]> {
  const { account, db, clock } = o
  for (let attempts = 1; !signal.aborted; ) {
    await waitForPause(o, signal)
    const [claim] = await claimIds(db, { account, limit: 1, leaseMs: LONGEST_LEASE_MS, only: one })
    if (claim === undefined) {
      await clock.sleep(HELD_MS, signal)
      continue
    }
    const end = await doClaimed(
      o.log,
      () => carryOutIdRead(o, claim, 'command', signal),
      () => releaseId(db, claim),
    )
    // What was never read may not be there yet (trap 79).
    if (end === 'read' || (end === 'gone' && !claim.wasRead)) return []
    if (end !== 'failed' || attempts >= MAX_ATTEMPTS) {
      const reason = end === 'gone' ? 'not found' : ((await idError(db.read, claim)) ?? 'it could not be read')
      return [{ account, submissionId: claim.submissionId, read: one.kind, reason: `${one.id}: ${reason}` }]
    }
    await clock.sleep(Math.max(RETRY_BASE_MS * 2 ** (attempts - 1), o.client.waitMs()), signal)
    attempts += 1
  }
  return []
}

/** Makes the extra reads of these submissions now. @param submissionIds `['']` for those without a submission in their path. */
export async function syncExtraReads(o: SyncOptions, submissionIds: readonly string[], signal: AbortSignal): Promise<FailedRead[]> {
  const { account, db, clock, extraReads: reads = [] } = o
  const ofSubmissions = submissionIds[0] !== ''
  const names = namesOf(reads, ofSubmissions)
  if (names.length === 0) return []
  await scheduleExtraReads(db, account, names, submissionIds, timeFromMs(clock.now()))
  const failures: FailedRead[] = []
  const queue = new PQueue({ concurrency: slotsAt(o.client.rate(), o.concurrency) })
  const readOne = async (submissionId: string, name: string): Promise<void> => {
    for (; !signal.aborted; await clock.sleep(HELD_MS, signal)) {
      await waitForPause(o, signal)
      const claim = await claimExtraRead(db, account, [name], LONGEST_LEASE_MS, [submissionId])
      if (claim === null) continue
      const read = () => carryOutExtraRead({ ...o, reads }, claim, 'command', signal)
      const reason = await doClaimed(o.log, read, () => releaseExtraRead(db, claim))
      if (reason !== null && reason !== 'lost') failures.push({ account, submissionId, read: `extra read ${name}`, reason })
      return
    }
  }
  const all = submissionIds.flatMap((submissionId) => names.map((name) => queue.add(() => readOne(submissionId, name))))
  for (const end of await Promise.allSettled(all)) if (end.status === 'rejected') throw end.reason
  return failures
}
