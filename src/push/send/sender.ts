import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { Service } from '../../base/service.ts'
import { WakeUp } from '../../base/wakeup.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { releaseAllLanes } from '../../store/outbox/work.ts'
import type { DeliveryKind } from '../contract/delivery.ts'
import { BatchLoop } from './batch-loop.ts'
import { DestinationGate } from './destination-gate.ts'
import { LaneClaims, SWEEP_MS } from './lane-claims.ts'
import { LaneLoop } from './lane-loop.ts'
import { RowSender } from './row-sender.ts'
import { Settler } from './settler.ts'

/** At most this long done lanes wait to be settled together, while many are under way. */
const GATHER_MS = 32
/** Kept of SHUTDOWN_GRACE for writing down what became of the last tries; of a short one no more than a quarter. */
const SETTLE_MS = 1_500

/** How long tries under way are waited for when all of it, and writing down what became of them, may take `graceMs`. */
export function triesGraceMs(graceMs: number): number {
  return graceMs - Math.min(SETTLE_MS, graceMs / 4)
}

export interface SenderOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  /** How long tries under way are waited for when it stops, and their outcome is written down; then they are broken off. */
  readonly graceMs: number
}

/**
 * outbox -> one destination. Lanes are claimed by lease; the rows of a lane are sent one after another, or those of many lanes together, as
 * the kind wants it; what became of them is settled in groups. It closes nothing: the kind may be used again.
 */
export class Sender implements Service {
  readonly name: string
  readonly #o: SenderOptions
  readonly #gate: DestinationGate
  #loop: LaneLoop | BatchLoop | null = null

  constructor(options: SenderOptions) {
    this.name = `sender ${options.destination.name}`
    this.#o = options
    this.#gate = new DestinationGate(options)
  }

  /** Something new is in the outbox, perhaps for this destination. */
  ring(): void {
    this.#loop?.ring()
  }

  /** How many processes send to it, this one included: they share its rate. */
  shareAmong(processes: number): void {
    this.#gate.shareAmong(processes)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, graceMs } = this.#o
    const over = new AbortController()
    const grace = () => void clock.sleep(triesGraceMs(graceMs), over.signal).then(() => over.abort())
    signal.addEventListener('abort', grace, { once: true })
    if (signal.aborted) grace()
    try {
      const { db, destination } = this.#o
      // Only one process sends on SQLite (invariant 13), and it has nothing in hand yet: what is claimed was left by one that was killed.
      if (db.kind === 'sqlite') await releaseAllLanes(db, destination.name)
      this.#loop = this.#createLoop(signal, over.signal)
      await this.#loop.run()
    } finally {
      await this.#gate.settled()
      signal.removeEventListener('abort', grace)
      over.abort()
    }
  }

  #createLoop(stopping: AbortSignal, over: AbortSignal): LaneLoop | BatchLoop {
    const { db, clock, log, observer, destination, kind } = this.#o
    const gate = this.#gate
    const courier = new RowSender({ db, clock, log, observer, destination, kind, gate })
    const gatherMs = () => (loop.isBusy ? GATHER_MS : 0)
    const { name, idempotent } = destination
    const settler = new Settler({ db, clock, log, destination: name, idempotent, gatherMs, over })
    const wakeUp = new WakeUp(clock)
    const sending = new LaneClaims({ db, clock, log, destination, kind, gate, rowSender: courier, settler, wakeUp, stopping, over })
    const loop = kind.batch.type === 'many' ? new BatchLoop(sending, kind.batch) : new LaneLoop(sending)
    return loop
  }
}

/** Rings every sender when there is something new in the outbox: a signal wakes only one of several who wait for it. */
export class OutboxSignal implements Service {
  readonly name = 'outbox bell'
  readonly #db: Db
  readonly #senders: Iterable<Sender>

  /** @param senders those that there are, looked at anew each time. */
  constructor(db: Db, senders: Iterable<Sender>) {
    this.#db = db
    this.#senders = senders
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#db.signals.wait('outbox', SWEEP_MS, signal)
      for (const sender of this.#senders) sender.ring()
    }
  }
}
