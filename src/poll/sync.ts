import type { SubmissionRef } from '../model/observations.ts'
import { type OwnRead, type ReadKind, readKinds } from '../model/reads.ts'
import { timeFromMs } from '../model/time.ts'
import { readError } from '../store/reads/account-reads.ts'
import { claimedReads, claimReads, type ReadClaim, releaseRead } from '../store/reads/claims.ts'
import { addReads } from '../store/reads/reads.ts'
import { readsOffNow } from '../store/reads/reads-off.ts'
import { AccountGate } from './account-gate.ts'
import { waitForPause } from './account-pauses.ts'
import { carryOutRead, READ_LEASE_MS } from './claimed-read.ts'
import { type Failure, readNow, type WantedRead } from './read-now.ts'
import type { FailedRead, SyncOptions } from './sync-options.ts'
import { syncExtraReads, syncIds } from './sync-others.ts'

/** Reads submissions of one account immediately, within the account's rate: feeds, state, ids, and extra reads. */
export class Sync {
  readonly #o: SyncOptions
  readonly #gate: AccountGate
  /** Why the account must not be read; null if it may be read. */
  #stopReason: string | null = null

  constructor(options: SyncOptions) {
    this.#o = options
    this.#gate = new AccountGate(options)
  }

  /**
   * @param submissionIds known submissions, at most some hundreds.
   * @returns the failed reads.
   * @throws BusyError if the service requests a pause of more than a minute; database errors; the abort
   * reason of `signal`.
   */
  async read(submissionIds: readonly string[], signal: AbortSignal): Promise<FailedRead[]> {
    const { account, db } = this.#o
    // Adds rows that are missing in `sync_reads`.
    const places = submissionIds.map((submissionId): SubmissionRef => ({ account, submissionId }))
    await db.write('sync-reads', (tx) => addReads(tx, places, timeFromMs(tx.clock.now()), false))
    const off: ReadonlySet<ReadKind> = await readsOffNow(db.read, account)
    await waitForPause(this.#o, signal)
    if (await this.#gate.isClosed(signal)) this.#stopReason ??= `account ${account} is stopped; see \`submission-mirror account list\``
    const wanted = readKinds
      .filter((read) => !off.has(read))
      .flatMap((read) => submissionIds.map((submissionId) => this.#wanted(submissionId, read, signal)))
    const failures = await readNow(this.#o, wanted, signal, () => this.#stopReason)
    signal.throwIfAborted()
    if (this.#stopReason !== null) return failures
    return [...failures, ...(await this.#readOthers(submissionIds, off, signal))]
  }

  /** Reads ids that belong to no submission, and extra reads without `{submission_id}`. */
  async readOthers(signal: AbortSignal): Promise<FailedRead[]> {
    const { account, db } = this.#o
    if (this.#stopReason !== null || (await this.#gate.isClosed(signal))) return []
    return await this.#readOthers([''], await readsOffNow(db.read, account), signal)
  }

  async #readOthers(submissionIds: readonly string[], off: ReadonlySet<ReadKind>, signal: AbortSignal): Promise<FailedRead[]> {
    const failures = [...(await syncIds(this.#o, submissionIds, off, signal)), ...(await syncExtraReads(this.#o, submissionIds, signal))]
    signal.throwIfAborted()
    return failures
  }

  #wanted(submissionId: string, read: OwnRead, signal: AbortSignal): WantedRead<ReadClaim> {
    const { account, db } = this.#o
    return {
      of: { account, submissionId, read },
      async claim() {
        const [claim] = await claimReads(db, { account, submissionIds: [submissionId], read, limit: 1, leaseMs: READ_LEASE_MS })
        return claim ?? null
      },
      exists: () => claimedReads.exists(db.read, { account, submissionId, read, id: '' }),
      carryOut: (claim) => this.#carryOut(claim, signal),
      release: (claim) => releaseRead(db, claim),
    }
  }

  async #carryOut(claim: ReadClaim, signal: AbortSignal): Promise<Failure | null> {
    const { account, db, clock } = this.#o
    const begunAt = clock.now()
    // Records can become visible at positions before the cursor. Only a full re-read returns them.
    const end = await carryOutRead({ ...this.#o, cause: 'command' }, { ...claim, fullReadDue: true }, signal)
    if (await this.#gate.note(claim, end, begunAt)) this.#stopReason = `account ${account} is paused: many submissions are not found`
    if (end === 'read') return null
    if (end === 'refused' && (await this.#gate.isClosed(signal)))
      this.#stopReason = `account ${account} is suspended: the service rejects its credentials, or every read; see \`submission-mirror account list\``
    const isGone = end === 'gone'
    return { reason: isGone ? 'not found' : ((await readError(db.read, claim)) ?? 'it could not be read'), isFinal: isGone }
  }
}
