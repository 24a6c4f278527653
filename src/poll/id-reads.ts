import { DueLoop } from '../base/due-loop.ts'
import type { IdRead } from '../model/reads.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { isAccountOpen } from '../store/reads/accounts.ts'
import { claimedReads, claimReads, type IdClaim, isReadDue, releaseRead } from '../store/reads/claims.ts'
import { rank } from '../store/reads/reads.ts'
import { releaseLeft } from '../store/upkeep/dead-processes.ts'
import { carryOutIdRead, type IdReadOptions } from './id-read.ts'
import type { ReadSwitches } from './read-switches.ts'

const TICK_MS = 1_000
/** Maximum number of reads in flight, in addition to the poller's reads. */
const AT_ONCE = 4

/** After this many 404s of an id that was never read, the path may be wrong. */
const LATE_NOT_FOUND = 3

export interface IdReadsOptions extends IdReadOptions {
  readonly account: string
  readonly switches: ReadSwitches
}

/**
 * Reads bind requests, policies, and insureds by their id (`known_ids`). Reads nothing while the account is stopped or
 * its brokerage is unchecked.
 */
export class IdReads extends DueLoop<IdClaim> {
  readonly #o: IdReadsOptions

  constructor(options: IdReadsOptions) {
    super(`reads by id of ${options.account}`, options.log)
    this.#o = options
  }

  protected override async begin(): Promise<void> {
    const { db, account } = this.#o
    await releaseLeft(db, claimedReads, { account, submission_id: '' })
  }

  protected override async claim(): Promise<readonly IdClaim[]> {
    const { db, account, client, switches } = this.#o
    const query = { account, rank: rank.byId, without: switches.off, limit: AT_ONCE, leaseMs: LONGEST_LEASE_MS }
    if (client.waitMs() > 0 || !(await isReadDue(db.read, query)) || !(await isAccountOpen(db.read, account))) return []
    return await claimReads<IdRead>(db, query)
  }

  protected override async carryOut(claim: IdClaim, signal: AbortSignal): Promise<void> {
    const { switches } = this.#o
    const { read, namedFor, lastReadAt, notFound } = claim
    const wasRead = lastReadAt !== null
    const end = await carryOutIdRead(this.#o, claim, 'poll', signal)
    if (end === 'read') await switches.noteRead(read)
    // A 404 is normal for a new id (trap 79), and counts as a refusal only after `LATE_NOT_FOUND` 404s.
    const isLate = wasRead || notFound >= LATE_NOT_FOUND
    if (end === 'declined' || (end === 'gone' && isLate)) await switches.noteDeclined(read, namedFor ?? '', wasRead)
  }

  protected override async release(claim: IdClaim): Promise<void> {
    await releaseRead(this.#o.db, claim)
  }

  protected override async rest(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#o
    // Storing a new id sends this signal.
    await db.signals.wait('reads', TICK_MS, signal)
    await clock.sleep(0, signal)
  }
}
