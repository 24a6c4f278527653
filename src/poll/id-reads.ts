import { DueLoop } from '../base/due-loop.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { isAccountOpen } from '../store/reads/accounts.ts'
import { claimedIds, claimIds, type IdClaim, isIdDue, releaseId } from '../store/reads/known-ids.ts'
import { releaseLeft } from '../store/upkeep/dead-processes.ts'
import { carryOutIdRead, type IdReadOptions } from './id-read.ts'
import type { ReadSwitches } from './read-switches.ts'

/** How often due ids are looked for when no signal comes. */
const TICK_MS = 1_000
/** Reads in flight, beside those of the account's poller. */
const AT_ONCE = 4

/** 404s of something never read, from an hour on, after which the next one may be about the path. */
const LATE_NOT_FOUND = 3

export interface IdReadsOptions extends IdReadOptions {
  readonly account: string
  readonly switches: ReadSwitches
}

/**
 * Reads what has an id of its own, once for each id that is known (`known_ids`): bind requests, policies, insureds. While the account is
 * stopped, or its brokerage was not checked yet, nothing is read.
 */
export class IdReads extends DueLoop<IdClaim> {
  readonly #o: IdReadsOptions

  constructor(options: IdReadsOptions) {
    super(`reads by id of ${options.account}`, options.log)
    this.#o = options
  }

  protected override async begin(): Promise<void> {
    const { db, account } = this.#o
    await releaseLeft(db, claimedIds, { account })
  }

  protected override async claim(): Promise<readonly IdClaim[]> {
    const { db, account, client, switches } = this.#o
    if (client.waitMs() > 0 || !(await isIdDue(db.read, account, switches.off)) || !(await isAccountOpen(db.read, account))) return []
    return await claimIds(db, { account, limit: AT_ONCE, leaseMs: LONGEST_LEASE_MS, without: switches.off })
  }

  protected override async carryOut(claim: IdClaim, signal: AbortSignal): Promise<void> {
    const { switches } = this.#o
    const { kind, submissionId, wasRead, notFound } = claim
    const end = await carryOutIdRead(this.#o, claim, 'poll', signal)
    if (end === 'read') await switches.noteRead(kind)
    // An early 404 is normal: what it names may not be there yet (trap 79).
    const isLate = wasRead || notFound >= LATE_NOT_FOUND
    if (end === 'declined' || (end === 'gone' && isLate)) await switches.noteDeclined(kind, submissionId, wasRead)
  }

  protected override async release(claim: IdClaim): Promise<void> {
    await releaseId(this.#o.db, claim)
  }

  protected override async rest(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#o
    // A read that is learned of signals too.
    await db.signals.wait('reads', TICK_MS, signal)
    await clock.sleep(0, signal)
  }
}
