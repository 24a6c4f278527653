import { doClaimed } from '../base/due-loop.ts'
import type { Place } from '../model/facts.ts'
import { type ReadKind, readKinds } from '../model/reads.ts'
import { timeFromMs } from '../model/time.ts'
import { readError } from '../store/reads/account-reads.ts'
import { claimReads, type ReadClaim, releaseRead } from '../store/reads/claims.ts'
import { addReads } from '../store/reads/reads.ts'
import { readsOffNow } from '../store/reads/reads-off.ts'
import { AccountGate } from './account-gate.ts'
import { waitForPause } from './account-pauses.ts'
import { carryOutRead, READ_LEASE_MS } from './claimed-read.ts'
import { slotsAt } from './slots.ts'
import type { FailedRead, SyncOptions } from './sync-options.ts'
import { syncExtraReads, syncIds } from './sync-others.ts'

/** Attempts of a failing read, with doubling waits, before it is reported. */
const MAX_ATTEMPTS = 3
const RETRY_BASE_MS = 1_000
/** Wait before claiming again when other processes hold all remaining reads. */
const HELD_MS = 200

interface WantedRead extends Place {
  readonly read: ReadKind
  readonly attempts: number
  readonly notBefore: number
}

/**
 * Reads feeds, state, ids and extra reads of submissions of one account now, whether due or not, within the account's rate. A read that another process has
 * claimed is awaited and then carried out.
 */
export class Sync {
  readonly #o: SyncOptions
  readonly #gate: AccountGate
  /** Why the account must not be read; once set, no further request is sent. */
  #stopReason: string | null = null

  constructor(options: SyncOptions) {
    this.#o = options
    this.#gate = new AccountGate(options)
  }

  /**
   * @param submissionIds known submissions; at most some hundreds.
   * @returns the reads that failed.
   * @throws BusyError when the service asks for a long pause; errors of the database; the reason of `signal` when it aborts.
   */
  async read(submissionIds: readonly string[], signal: AbortSignal): Promise<FailedRead[]> {
    const { account, db, clock } = this.#o
    // A missing row of `sync_reads` could never be claimed.
    const places = submissionIds.map((submissionId): Place => ({ account, submissionId }))
    await db.write('sync-reads', (tx) => addReads(tx, places, timeFromMs(tx.clock.now()), false))
    const off: ReadonlySet<ReadKind> = await readsOffNow(db.read, account)
    const pending = submissionIds.flatMap((submissionId) =>
      readKinds
        .filter((read) => !off.has(read))
        .map((read): WantedRead => ({ account, submissionId, read, attempts: 0, notBefore: clock.steady() })),
    )
    const round: Round = { pending, inFlight: 0, failures: [], aborted: false }
    await waitForPause(this.#o, signal)
    if (await this.#gate.isClosed(signal)) this.#stopReason ??= `account ${account} is stopped; see \`submission-mirror account list\``
    // When one worker fails, the others finish their current read and stop.
    const fail = (error: unknown) => {
      round.aborted = true
      throw error
    }
    const workers = slotsAt(this.#o.client.rate(), this.#o.concurrency)
    const ends = await Promise.allSettled(Array.from({ length: workers }, () => this.#work(round, signal).catch(fail)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    signal.throwIfAborted()
    if (this.#stopReason !== null) return round.failures
    const others = [...(await syncIds(this.#o, submissionIds, off, signal)), ...(await syncExtraReads(this.#o, submissionIds, signal))]
    signal.throwIfAborted()
    return [...round.failures, ...others]
  }

  /** Reads what belongs to no submission: ids that were named for none, and extra reads without one. */
  async readOthers(signal: AbortSignal): Promise<FailedRead[]> {
    const { account, db } = this.#o
    if (this.#stopReason !== null || (await this.#gate.isClosed(signal))) return []
    const off = await readsOffNow(db.read, account)
    const failures = [...(await syncIds(this.#o, [''], off, signal)), ...(await syncExtraReads(this.#o, [''], signal))]
    signal.throwIfAborted()
    return failures
  }

  async #work(round: Round, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !round.aborted && round.pending.length + round.inFlight > 0) {
      if (this.#stopReason !== null) {
        for (const wanted of round.pending.splice(0)) round.failures.push({ ...placeOf(wanted), reason: this.#stopReason })
        return
      }
      await waitForPause(this.#o, signal)
      const claimed = await this.#claim(round)
      if (claimed === null) {
        await this.#o.clock.sleep(HELD_MS, signal)
        continue
      }
      round.inFlight += 1
      try {
        await this.#carryOut(round, claimed.wanted, claimed.claim, signal)
      } finally {
        round.inFlight -= 1
      }
    }
  }

  /** Claims one of the pending reads, whichever is free. */
  async #claim(round: Round): Promise<{ wanted: WantedRead; claim: ReadClaim } | null> {
    const { account, db, clock } = this.#o
    for (const read of readKinds) {
      const ready = round.pending.filter((wanted) => wanted.read === read && wanted.notBefore <= clock.steady())
      if (ready.length === 0) continue
      const submissionIds = ready.map((wanted) => wanted.submissionId)
      const [claim] = await claimReads(db, { account, submissionIds, read, limit: 1, leaseMs: READ_LEASE_MS })
      if (!claim) continue
      const index = round.pending.findIndex((wanted) => wanted.read === read && wanted.submissionId === claim.submissionId)
      const wanted = round.pending[index]
      if (wanted) {
        round.pending.splice(index, 1)
        return { wanted, claim }
      }
      // Another worker carried it out between our look and our claim.
      await releaseRead(db, claim)
    }
    return null
  }

  async #carryOut(round: Round, wanted: WantedRead, claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { account, db, clock } = this.#o
    const begunAt = clock.now()
    const end = await this.#read(claim, signal)
    if (await this.#gate.note(claim, end, begunAt)) this.#stopReason = `account ${account} is paused: many submissions are not found`
    if (end === 'read') return
    if (end === 'refused' && (await this.#gate.isClosed(signal)))
      this.#stopReason = `account ${account} is parked: the service refuses its credentials, or every read; see \`submission-mirror account list\``
    const attempts = wanted.attempts + 1
    if (end !== 'gone' && attempts < MAX_ATTEMPTS && this.#stopReason === null) {
      const waitMs = Math.max(RETRY_BASE_MS * 2 ** wanted.attempts, this.#o.client.waitMs())
      round.pending.push({ ...wanted, attempts, notBefore: clock.steady() + waitMs })
      return
    }
    const reason = end === 'gone' ? 'not found' : ((await readError(db.read, wanted, wanted.read)) ?? 'it could not be read')
    round.failures.push({ ...placeOf(wanted), reason })
  }

  async #read(claim: ReadClaim, signal: AbortSignal) {
    const { db, log } = this.#o
    // A command reads everything, including what became visible behind the cursor.
    const read = () => carryOutRead({ ...this.#o, cause: 'command' }, { ...claim, replayDue: true }, signal)
    return await doClaimed(log, read, () => releaseRead(db, claim))
  }
}

/** The progress of one call of `read`. */
interface Round {
  readonly pending: WantedRead[]
  inFlight: number
  readonly failures: FailedRead[]
  /** Whether one worker has failed. Reads in flight finish; no new ones start. */
  aborted: boolean
}

function placeOf({ account, submissionId, read }: WantedRead): Omit<FailedRead, 'reason'> {
  return { account, submissionId, read }
}
