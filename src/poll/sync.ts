import type { Place } from '../model/facts.ts'
import { type ReadKind, readKinds } from '../model/reads.ts'
import { timeFromMs } from '../model/time.ts'
import { readError } from '../store/reads/account-reads.ts'
import { claimReads, type ReadClaim, releaseRead } from '../store/reads/claims.ts'
import { addReads } from '../store/reads/reads.ts'
import { AccountGate, type GateOptions } from './account-gate.ts'
import { carryOutRead, placesAt, READ_LEASE_MS } from './claimed-read.ts'
import type { PollPolicy } from './intervals.ts'

/** A read that fails is tried so often, so long after each other: a moment's fault of the service is no answer. */
const TRIES = 3
const RETRY_BASE_MS = 1_000
/** Another process is making the read: it is looked for again after this long. */
const HELD_MS = 200

export interface SyncOptions extends GateOptions {
  readonly policy: PollPolicy
  readonly concurrency: number
}

/** A read that could not be made, and why. */
export interface Unread extends Place {
  readonly read: ReadKind
  readonly reason: string
}

interface WantedRead extends Place {
  readonly read: ReadKind
  readonly tries: number
  readonly notBefore: number
}

/**
 * Reads submissions of one account now, feeds and state, due or not, within the account's rate and beside whatever else reads them: a
 * read that another process holds is waited for and then made.
 */
export class Sync {
  readonly #o: SyncOptions
  readonly #gate: AccountGate
  /** Why the account may not be read; once set, nothing more is asked of the service. */
  #stopped: string | null = null

  constructor(options: SyncOptions) {
    this.#o = options
    this.#gate = new AccountGate(options)
  }

  /**
   * @param submissionIds known ones; at most some hundreds.
   * @returns what could not be read.
   * @throws what the store throws, and the reason of `signal` when it aborts.
   */
  async read(submissionIds: readonly string[], signal: AbortSignal): Promise<Unread[]> {
    const { account, db, clock } = this.#o
    // A read that was lost could never be claimed, and would be waited for without end.
    const places = submissionIds.map((submissionId): Place => ({ account, submissionId }))
    await db.write('sync-reads', (tx) => addReads(tx, places, timeFromMs(tx.clock.now()), false))
    const pending = submissionIds.flatMap((submissionId) =>
      readKinds.map((read): WantedRead => ({ account, submissionId, read, tries: 0, notBefore: clock.now() })),
    )
    const round: Round = { pending, inHand: 0, unread: [], failed: false }
    if (await this.#gate.isClosed(signal)) this.#stopped ??= `account ${account} is stopped; see \`submission-mirror account list\``
    // One hand that fails ends the whole; the others end with what they hold.
    const fail = (error: unknown) => {
      round.failed = true
      throw error
    }
    const hands = placesAt(this.#o.client.rate(), this.#o.concurrency)
    const ends = await Promise.allSettled(Array.from({ length: hands }, () => this.#work(round, signal).catch(fail)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    signal.throwIfAborted()
    return round.unread
  }

  async #work(round: Round, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !round.failed && round.pending.length + round.inHand > 0) {
      if (this.#stopped !== null) {
        for (const wanted of round.pending.splice(0)) round.unread.push({ ...placeOf(wanted), reason: this.#stopped })
        return
      }
      const claimed = await this.#claim(round)
      if (claimed === null) {
        await this.#o.clock.sleep(HELD_MS, signal)
        continue
      }
      round.inHand += 1
      try {
        await this.#make(round, claimed.wanted, claimed.claim, signal)
      } finally {
        round.inHand -= 1
      }
    }
  }

  /** Claims one of what is pending, whichever is free. */
  async #claim(round: Round): Promise<{ wanted: WantedRead; claim: ReadClaim } | null> {
    const { account, db, clock } = this.#o
    for (const read of readKinds) {
      const ripe = round.pending.filter((wanted) => wanted.read === read && wanted.notBefore <= clock.now())
      if (ripe.length === 0) continue
      const submissionIds = ripe.map((wanted) => wanted.submissionId)
      const [claim] = await claimReads(db, { account, submissionIds, read, limit: 1, leaseMs: READ_LEASE_MS })
      if (!claim) continue
      const index = round.pending.findIndex((wanted) => wanted.read === read && wanted.submissionId === claim.submissionId)
      const wanted = round.pending[index]
      if (wanted) {
        round.pending.splice(index, 1)
        return { wanted, claim }
      }
      // Another hand has made it between our look and our claim.
      await releaseRead(db, claim)
    }
    return null
  }

  async #make(round: Round, wanted: WantedRead, claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { account, db, clock } = this.#o
    const begunAt = clock.now()
    const end = await this.#read(claim, signal)
    if (await this.#gate.note(claim, end, begunAt)) this.#stopped = `account ${account} is paused: many submissions are not found`
    if (end === 'read') return
    if (end === 'refused' && (await this.#gate.isClosed(signal)))
      this.#stopped = `account ${account} is parked: the service refuses its credentials, or every read; see \`submission-mirror account list\``
    const tries = wanted.tries + 1
    if (end !== 'gone' && tries < TRIES && this.#stopped === null) {
      const waitMs = Math.max(RETRY_BASE_MS * 2 ** wanted.tries, this.#o.client.waitMs())
      round.pending.push({ ...wanted, tries, notBefore: clock.now() + waitMs })
      return
    }
    const reason =
      end === 'gone' ? 'the service does not know it' : ((await readError(db.read, wanted, wanted.read)) ?? 'it could not be read')
    round.unread.push({ ...placeOf(wanted), reason })
  }

  async #read(claim: ReadClaim, signal: AbortSignal) {
    try {
      // Whoever asks wants all of it, what lies behind the cursor too.
      return await carryOutRead({ ...this.#o, cause: 'command' }, { ...claim, replayDue: true }, signal)
    } catch (error) {
      // Given back, so that nobody waits for the lease to end; when even that fails, it ends by itself.
      await releaseRead(this.#o.db, claim).catch(() => undefined)
      throw error
    }
  }
}

/** What is being done in one call of `read`. */
interface Round {
  readonly pending: WantedRead[]
  inHand: number
  readonly unread: Unread[]
  /** What was begun is ended, and nothing more is. */
  failed: boolean
}

function placeOf({ account, submissionId, read }: WantedRead): Omit<Unread, 'reason'> {
  return { account, submissionId, read }
}
