import PQueue from 'p-queue'
import { doClaimed } from '../base/due-loop.ts'
import type { Service } from '../base/service.ts'
import { isDetail } from '../model/reads.ts'
import { timeFromMs } from '../model/time.ts'
import { claimSweep, endSweep, sweepStep } from '../store/reads/account-reads.ts'
import { claimedReads, claimReads, type ReadClaim, releaseRead } from '../store/reads/claims.ts'
import { rank } from '../store/reads/reads.ts'
import { shortenWaits } from '../store/reads/shorten-waits.ts'
import { releaseLeft } from '../store/upkeep/dead-processes.ts'
import { AccountGate, type GateOptions } from './account-gate.ts'
import { type ClaimedReadEnd, carryOutRead, READ_LEASE_MS } from './claimed-read.ts'
import { longestIntervals, type PollPolicy } from './intervals.ts'
import type { ReadSwitches } from './read-switches.ts'
import { slotsAt } from './slots.ts'

const TICK_MS = 1_000
/**
 * Shortest time between two reads of all active submissions. A delivery that names no submission requests such
 * reads (trap 25).
 */
const SWEEP_EVERY_MS = 300_000
const SWEEP_ACTIVE_MS = 30 * 86_400_000
const SWEEP_STEP = 300
const SWEEP_PAUSE_MS = 10

/**
 * Priority of claimed reads:
 * - `scheduled`: reads that are due by their schedule
 * - `woken`: requested reads
 * - `kept`: one failing read and one background read, which might otherwise never run
 */
const priorities = { kept: 2, woken: 1, scheduled: 0 }
type Priority = keyof typeof priorities

export interface AccountPollerOptions extends GateOptions {
  readonly policy: PollPolicy
  readonly concurrency: number
  readonly switches: ReadSwitches
}

/**
 * Runs the due reads of one account, requested reads first. A stopped account isn't read.
 * Failing reads get at most a quarter of the slots, so that other reads aren't delayed. With fewer than four slots,
 * failing reads get one slot.
 * With three or more slots, background reads get at least one slot, even if feeds are busy.
 */
export class AccountPoller implements Service {
  readonly name: string
  readonly #o: AccountPollerOptions
  readonly #gate: AccountGate
  readonly #queue: PQueue
  #failing = 0
  #background = 0
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
    let shortening: Promise<void> | null = null
    try {
      const { db, account, policy } = this.#o
      await releaseLeft(db, claimedReads, { account, id: '' })
      shortening = shortenWaits(db, account, longestIntervals(policy), signal).catch((error: unknown) => {
        this.#failure = error
      })
      while (!signal.aborted && this.#failure === undefined) await this.#look(signal)
    } catch (error) {
      // Errors after a stop are expected, because stopping aborts the gate's requests.
      if (!signal.aborted) this.#failure = error
    } finally {
      // Waits for reads in flight. A sweep over all submissions ends with its current step and is repeated later.
      await this.#queue.onIdle()
      await this.#sweeping
      await shortening
    }
    if (this.#failure !== undefined) throw this.#failure
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { db, client, clock } = this.#o
    const deadMs = client.waitMs()
    // Claims nothing during an outage or a pause, because all reads and checks would fail.
    if (deadMs > 0) return clock.sleep(Math.min(deadMs, TICK_MS), signal)
    // Waits at most one tick, so that `account resume` takes effect soon.
    if (await this.#gate.isClosed(signal)) return db.signals.wait('reads', TICK_MS, signal)
    this.#sweeping ??= this.#sweep(signal)
    await this.#start(signal)
    // Each finished read sends this signal, because its slot is free.
    await db.signals.wait('reads', TICK_MS, signal)
  }

  /**
   * Claims reads and starts them. Scheduled reads are claimed in batches before slots are free. Otherwise slots would
   * stay empty during a claim. Requested reads overtake scheduled reads.
   */
  async #start(signal: AbortSignal): Promise<void> {
    const { client, concurrency } = this.#o
    const most = slotsAt(client.rate(), concurrency * 2)
    const slots = Math.min(concurrency, most)
    this.#queue.concurrency = slots
    const failingSlots = Math.max(1, Math.floor(slots / 4))
    const room = (priority: Priority) => most - this.#queue.pending - this.#waiting(priority)
    if (this.#failing === 0 && slots > 1) await this.#claim(rank.failing, Math.min(1, room('kept')), signal, 'kept')
    if (this.#background === 0 && slots > 2) await this.#claim(rank.background, Math.min(1, room('kept')), signal, 'kept')
    await this.#claim(rank.live, room('woken'), signal, 'woken')
    if (this.#queue.sizeBy({ priority: priorities.scheduled }) > 0) return
    await this.#claim(rank.routine, room('scheduled'), signal)
    await this.#claim(rank.background, room('scheduled'), signal)
    await this.#claim(rank.failing, Math.min(failingSlots - this.#failing, room('scheduled')), signal)
  }

  #waiting(least: Priority): number {
    const before = Object.values(priorities).filter((priority) => priority >= priorities[least])
    return before.reduce((sum, priority) => sum + this.#queue.sizeBy({ priority }), 0)
  }

  async #claim(which: number, limit: number, signal: AbortSignal, priority: Priority = 'scheduled'): Promise<void> {
    if (limit <= 0) return
    const { db, account, switches } = this.#o
    const claims = await claimReads(db, { account, rank: which, without: switches.off, limit, leaseMs: READ_LEASE_MS })
    for (const claim of claims) this.#enqueue(claim, which, priorities[priority], signal)
  }

  #enqueue(claim: ReadClaim, which: number, priority: number, signal: AbortSignal): void {
    this.#count(which, 1)
    void this.#queue
      .add(() => this.#carryOut(claim, signal), { priority })
      .catch((error: unknown) => {
        if (!signal.aborted) this.#failure = error
      })
      .finally(() => {
        this.#count(which, -1)
        this.#o.db.signals.notify('reads')
      })
  }

  #count(which: number, by: number): void {
    if (which === rank.failing) this.#failing += by
    if (which === rank.background) this.#background += by
  }

  async #carryOut(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { db, log, clock } = this.#o
    const release = () => releaseRead(db, claim)
    if (signal.aborted || this.#isPointless(claim)) return await release()
    const begunAt = clock.now()
    const read = async () => this.#note(claim, await carryOutRead({ ...this.#o, cause: 'poll' }, claim, signal), begunAt)
    await doClaimed(log, read, release)
  }

  async #note(claim: ReadClaim, end: ClaimedReadEnd, begunAt: number): Promise<void> {
    const { read, submissionId, lastReadAt } = claim
    await this.#gate.note(claim, end, begunAt)
    if (!isDetail(read)) return
    if (end === 'read') await this.#o.switches.noteRead(read)
    if (end === 'declined') await this.#o.switches.noteDeclined(read, submissionId, lastReadAt !== null)
  }

  /**
   * True if the read would only fail: while the read waited, the service became unavailable, or this kind of read was
   * switched off.
   */
  #isPointless({ read }: ReadClaim): boolean {
    const { client, switches } = this.#o
    return client.waitMs() > 0 || switches.off.includes(read)
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    try {
      await this.#sweepIfRequested(signal)
    } catch (error) {
      if (!signal.aborted) this.#failure = error
    } finally {
      this.#sweeping = null
    }
  }

  async #sweepIfRequested(signal: AbortSignal): Promise<void> {
    const { db, account, clock, observer, log } = this.#o
    if (!(await claimSweep(db, account, SWEEP_EVERY_MS))) return
    observer.count('sweeps_total', { account })
    log.info({ account }, 'a delivery named no submission, so the feeds of all active submissions are read')
    const activeSince = timeFromMs(clock.now() - SWEEP_ACTIVE_MS)
    for (let after: string | null = ''; after !== null; await clock.sleep(SWEEP_PAUSE_MS, signal)) {
      if (signal.aborted || this.#failure !== undefined) return
      after = await sweepStep(db, account, after, activeSince, SWEEP_STEP)
    }
    await endSweep(db, account)
  }
}
