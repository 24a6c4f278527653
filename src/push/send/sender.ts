import type { Service } from '../../base/service.ts'
import { WakeUp } from '../../base/wakeup.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { Db, ServiceParts } from '../../store/engine/db.ts'
import { releaseAllStreams } from '../../store/outbox/work.ts'
import type { DeliveryKind } from '../contract/delivery.ts'
import { BatchLoop } from './batch-loop.ts'
import { DestinationGate } from './destination-gate.ts'
import { RowSender } from './row-sender.ts'
import { Settler } from './settler.ts'
import { StreamClaims, SWEEP_MS } from './stream-claims.ts'
import { StreamLoop } from './stream-loop.ts'

/** How long results wait to be stored together while many streams are in flight, in ms. */
const GATHER_MS = 32
/** Part of SHUTDOWN_GRACE for storing the last results, in ms. At most a quarter of SHUTDOWN_GRACE is used for this. */
const SETTLE_MS = 1_500

/**
 * @returns how long a stopping sender waits for attempts in flight, in ms. The rest of `graceMs` is
 * for storing results.
 */
export function attemptsGraceMs(graceMs: number): number {
  return graceMs - Math.min(SETTLE_MS, graceMs / 4)
}

export interface SenderOptions extends ServiceParts {
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  /**
   * Time to finish when the sender stops, in ms. Attempts in flight are aborted after `attemptsGraceMs(graceMs)`. The
   * rest of the time is for storing results.
   */
  readonly graceMs: number
}

/**
 * Sends the outbox rows of one destination. Claims streams under leases. Depending on the kind, sends each
 * stream separately, or sends rows of many streams in batches. Stores the results of several streams together.
 * Doesn't close the kind.
 */
export class Sender implements Service {
  readonly name: string
  readonly #o: SenderOptions
  readonly #gate: DestinationGate
  #loop: StreamLoop | BatchLoop | null = null

  constructor(options: SenderOptions) {
    this.name = `sender ${options.destination.name}`
    this.#o = options
    this.#gate = new DestinationGate(options)
  }

  /** Call when the outbox may have new rows for this destination. */
  notify(): void {
    this.#loop?.notify()
  }

  /** Divides the destination's rate among this many processes, including this one. */
  shareAmong(processes: number): void {
    this.#gate.shareAmong(processes)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, graceMs } = this.#o
    const canceled = new AbortController()
    const grace = () => void clock.sleep(attemptsGraceMs(graceMs), canceled.signal).then(() => canceled.abort())
    signal.addEventListener('abort', grace, { once: true })
    if (signal.aborted) grace()
    try {
      const { db, destination } = this.#o
      // On SQLite, only this process sends, and this process has claimed no stream yet. All existing claims are
      // therefore from a killed process.
      if (db.kind === 'sqlite') await releaseAllStreams(db, destination.name)
      this.#loop = this.#createLoop(signal, canceled.signal)
      await this.#loop.run()
    } finally {
      await this.#gate.flush()
      signal.removeEventListener('abort', grace)
      canceled.abort()
    }
  }

  #createLoop(stopping: AbortSignal, canceled: AbortSignal): StreamLoop | BatchLoop {
    const { db, clock, log, observer, destination, kind } = this.#o
    const gate = this.#gate
    const rowSender = new RowSender({ db, clock, log, observer, destination, kind, gate })
    const gatherMs = () => (loop.isBusy ? GATHER_MS : 0)
    const { name, idempotent } = destination
    const settler = new Settler({ db, clock, log, destination: name, idempotent, gatherMs, canceled })
    const wakeUp = new WakeUp(clock)
    const claims = new StreamClaims({ db, clock, log, destination, kind, gate, rowSender, settler, wakeUp, stopping, canceled })
    const loop: StreamLoop | BatchLoop = kind.batch.type === 'many' ? new BatchLoop(claims, kind.batch) : new StreamLoop(claims)
    return loop
  }
}

/** Wakes all senders when the outbox may have new rows. Without this service, a signal would wake only one sender. */
export class OutboxSignal implements Service {
  readonly name = 'outbox signal'
  readonly #db: Db
  readonly #senders: Iterable<Sender>

  /** @param senders the running senders. Senders may be added and removed: each signal reads `senders` again. */
  constructor(db: Db, senders: Iterable<Sender>) {
    this.#db = db
    this.#senders = senders
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#db.signals.wait('outbox', SWEEP_MS, signal)
      for (const sender of this.#senders) sender.notify()
    }
  }
}
