import PQueue from 'p-queue'
import { messageOf } from '../base/errors.ts'
import type { Service } from '../base/service.ts'
import { timeFromMs } from '../model/time.ts'
import { claimSweep, endSweep, sweepStep } from '../store/reads/account-reads.ts'
import { claimReads, type ReadClaim, releaseAllReads, releaseRead } from '../store/reads/claims.ts'
import { rank } from '../store/reads/reads.ts'
import { isCommandReading } from '../store/upkeep/processes.ts'
import { AccountGate, type GateOptions } from './account-gate.ts'
import { carryOutRead, placesAt, READ_LEASE_MS } from './claimed-read.ts'
import type { PollPolicy } from './intervals.ts'

/** Without a signal the due reads are looked for this often. */
const TICK_MS = 1_000
/** A delivery that names no submission wakes the active ones, at most this often (trap 25). */
const SWEEP_EVERY_MS = 300_000
const SWEEP_ACTIVE_MS = 30 * 86_400_000
/** Submissions looked at together, and the rest between two looks: others get the database, and deliveries the event loop. */
const SWEEP_STEP = 300
const SWEEP_PAUSE_MS = 10

export interface AccountPollerOptions extends GateOptions {
  readonly policy: PollPolicy
  readonly concurrency: number
}

/**
 * Makes the due reads of one account: what was woken first, then what the clock asks for; what fails gets a quarter of the places at most, so
 * that a hanging feed never holds up one that works. While the account is stopped nothing is read.
 */
export class AccountPoller implements Service {
  readonly name: string
  readonly #o: AccountPollerOptions
  readonly #gate: AccountGate
  readonly #queue: PQueue
  #failing = 0
  #sweeping: Promise<void> | null = null
  #failure: unknown

  constructor(options: AccountPollerOptions) {
    this.#o = options
    this.name = `poller of ${options.account}`
    this.#gate = new AccountGate(options)
    this.#queue = new PQueue({ concurrency: options.concurrency })
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#failure = undefined
    try {
      await this.#takeOver()
      while (!signal.aborted && this.#failure === undefined) await this.#turn(signal)
    } catch (error) {
      // Asking whether the account may be read is broken off when the poller is stopped.
      if (!signal.aborted) this.#failure = error
    } finally {
      // What was begun before settles its reads; a sweep ends with the step in hand, and is made anew.
      await this.#queue.onIdle()
      await this.#sweeping
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Only one process serves on SQLite (invariant 13), and it has no read in hand yet: what is claimed was left by one that was killed. */
  async #takeOver(): Promise<void> {
    const { db, account } = this.#o
    if (db.kind === 'sqlite' && !(await isCommandReading(db.read))) await releaseAllReads(db, account)
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { db, client, clock } = this.#o
    // An operator's `account resume` is seen at the next tick.
    if (await this.#gate.isClosed(signal)) return db.signals.wait('reads', TICK_MS, signal)
    const deadMs = client.waitMs()
    // The service is dead: claiming reads only to fail them would mark them all as failing.
    if (deadMs > 0) return clock.sleep(Math.min(deadMs, TICK_MS), signal)
    this.#sweeping ??= this.#sweep(signal)
    await this.#start(signal)
    // Every read that ends signals too: its place is free, and it may be due again.
    await db.signals.wait('reads', TICK_MS, signal)
  }

  /** Claims as many reads as there are places, and starts them. One place is for what fails: more may be due than there are places for. */
  async #start(signal: AbortSignal): Promise<void> {
    const places = placesAt(this.#o.client.rate(), this.#o.concurrency)
    const failingPlaces = Math.max(1, Math.floor(places / 4))
    const free = () => places - this.#queue.pending - this.#queue.size
    if (this.#failing === 0 && places > 1) await this.#claim(rank.failing, Math.min(1, free()), signal)
    await this.#claim(rank.live, free(), signal)
    await this.#claim(rank.routine, free(), signal)
    await this.#claim(rank.failing, Math.min(failingPlaces - this.#failing, free()), signal)
  }

  async #claim(which: number, limit: number, signal: AbortSignal): Promise<void> {
    if (limit <= 0) return
    const claims = await claimReads(this.#o.db, { account: this.#o.account, rank: which, limit, leaseMs: READ_LEASE_MS })
    for (const claim of claims) this.#enqueue(claim, which === rank.failing, signal)
  }

  #enqueue(claim: ReadClaim, failing: boolean, signal: AbortSignal): void {
    if (failing) this.#failing += 1
    void this.#queue
      .add(() => this.#make(claim, signal))
      .catch((error: unknown) => {
        if (!signal.aborted) this.#failure = error
      })
      .finally(() => {
        if (failing) this.#failing -= 1
        this.#o.db.signals.notify('reads')
      })
  }

  async #make(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    try {
      if (signal.aborted) return await releaseRead(this.#o.db, claim)
      const begunAt = this.#o.clock.now()
      const end = await carryOutRead({ ...this.#o, cause: 'poll' }, claim, signal)
      await this.#gate.note(claim, end, begunAt)
    } catch (error) {
      // Given back, so that nobody waits for the lease to end. When that fails too, the lease ends by itself.
      await releaseRead(this.#o.db, claim).catch((second: unknown) => this.#o.log.debug({ err: second }, messageOf(second)))
      throw error
    }
  }

  /** Makes a sweep if one is wanted, beside the reads: it looks at every submission. Never rejects. */
  async #sweep(signal: AbortSignal): Promise<void> {
    try {
      await this.#sweepIfWanted(signal)
    } catch (error) {
      if (!signal.aborted) this.#failure = error
    } finally {
      this.#sweeping = null
    }
  }

  async #sweepIfWanted(signal: AbortSignal): Promise<void> {
    const { db, account, clock, observer, log } = this.#o
    if (!(await claimSweep(db, account, SWEEP_EVERY_MS))) return
    observer.count('sweeps_total', { account })
    log.info({ account }, 'a delivery named no submission; the feeds of all active submissions are read')
    const activeSince = timeFromMs(clock.now() - SWEEP_ACTIVE_MS)
    for (let after: string | null = ''; after !== null; await clock.sleep(SWEEP_PAUSE_MS, signal)) {
      if (signal.aborted || this.#failure !== undefined) return
      after = await sweepStep(db, account, after, activeSince, SWEEP_STEP)
    }
    await endSweep(db, account)
  }
}
