import { messageOf } from '../base/errors.ts'
import type { Service } from '../base/service.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { findAccount } from '../store/reads/accounts.ts'
import { claimedIds, claimIds, type IdClaim, isIdDue, releaseId } from '../store/reads/known-ids.ts'
import { isCommandReading } from '../store/upkeep/processes.ts'
import { carryOutIdRead, type IdReadEnd, type IdReadOptions } from './id-read.ts'
import type { ReadSwitches } from './read-switches.ts'

/** How often due ids are looked for when no signal comes. */
const TICK_MS = 1_000
/** Reads in flight, beside those of the account's poller. */
const AT_ONCE = 4

/** 404s of something never read, from an hour on, after which the next one may be about the path. */
const LATE_MISSES = 3

export interface IdReadsOptions extends IdReadOptions {
  readonly account: string
  readonly switches: ReadSwitches
}

/**
 * Reads what has an id of its own, once for each id that is known (`known_ids`): bind requests, policies, insureds. While the account is
 * stopped, or its brokerage was not checked yet, nothing is read.
 */
export class IdReads implements Service {
  readonly name: string
  readonly #o: IdReadsOptions

  constructor(options: IdReadsOptions) {
    this.#o = options
    this.name = `reads by id of ${options.account}`
  }

  async run(signal: AbortSignal): Promise<void> {
    const { db, clock } = this.#o
    try {
      await this.#begin()
      while (!signal.aborted) {
        if (await this.#readNext(signal)) continue
        // A read that is learned of signals too.
        await db.signals.wait('reads', TICK_MS, signal)
        await clock.sleep(0, signal)
      }
    } catch (error) {
      // Stopping aborts the requests in flight.
      if (!signal.aborted) throw error
    }
  }

  async #begin(): Promise<void> {
    const { db, account } = this.#o
    const isAlone = db.kind === 'sqlite' && !(await isCommandReading(db.read))
    await db.write('read-release', async (tx) => {
      // On SQLite only one process serves (invariant 13), so every claim was left by a killed process.
      if (isAlone) await claimedIds.releaseAll(tx, { account })
    })
  }

  /** @returns whether anything was read. */
  async #readNext(signal: AbortSignal): Promise<boolean> {
    const { db, account, client } = this.#o
    if (client.waitMs() > 0 || !(await isIdDue(db.read, account, this.#o.switches.off))) return false
    const row = await findAccount(db.read, account)
    if (row === null || row.state !== 'active' || row.brokerage === null) return false
    const claims = await claimIds(db, { account, limit: AT_ONCE, leaseMs: LONGEST_LEASE_MS, without: this.#o.switches.off })
    const ends = await Promise.allSettled(claims.map((claim) => this.#carryOut(claim, signal)))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return claims.length > 0
  }

  async #note({ kind, submissionId, wasRead, misses }: IdClaim, end: IdReadEnd): Promise<void> {
    const { switches } = this.#o
    if (end === 'read') await switches.noteRead(kind)
    // An early 404 is normal: what it names may not be there yet (trap 79).
    const isLate = wasRead || misses >= LATE_MISSES
    if (end === 'declined' || (end === 'gone' && isLate)) await switches.noteDeclined(kind, submissionId, wasRead)
  }

  async #carryOut(claim: IdClaim, signal: AbortSignal): Promise<void> {
    try {
      const end = await carryOutIdRead(this.#o, claim, 'poll', signal)
      await this.#note(claim, end)
    } catch (error) {
      // Release it so that nobody waits for its lease to end.
      await releaseId(this.#o.db, claim).catch((second: unknown) => this.#o.log.debug({ err: second }, messageOf(second)))
      throw error
    }
  }
}
