import { Circuit, type Permit } from '../../base/circuit.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { RateLimiter } from '../../base/limiter.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db } from '../../store/engine/db.ts'
import { backOffDestination, destinationReadiness, endBackoff, setDestinationState } from '../../store/outbox/destinations.ts'
import type { Outcome } from '../contract/delivery.ts'
import { askedRestMs, isBroken } from '../contract/outcomes.ts'

const FAILURES_TO_OPEN = 5
const CIRCUIT_BASE_MS = 5_000
const CIRCUIT_CAP_MS = 60_000
/** Rests that end so close to each other are one. */
const SAME_REST_MS = 250
/** This often it is looked what others have done to the destination. */
const HEED_MS = 1_000

export interface DestinationGateOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  readonly destination: Pick<DestinationConfig, 'name' | 'requestsPerSecond' | 'scheduleMs'>
}

/**
 * Whether anything may be sent to a destination now: its rate, its circuit, the rest that it asked for. Rests are written down too, so that
 * other processes and the next start keep them.
 */
export class DestinationGate {
  readonly #o: DestinationGateOptions
  readonly #circuit: Circuit
  readonly #limiter: RateLimiter | null
  /** The end of the rest that it asked for, by the steady clock; the circuit's own pause is the circuit's. */
  #restUntil = Number.NEGATIVE_INFINITY
  #stopped = false
  /** Whether one of the tries under way has stopped it: the others say the same. */
  #stopWritten = false
  /** How many rests and stops came to be known here, by tries or from the store. */
  #brought = 0
  /** The end of the circuit's newest pause, as the store was told it; null when it was not. */
  #pauseUntil: TimeText | null = null
  #heedAt = Number.NEGATIVE_INFINITY
  /** Writes one after another, so that the last one stands. */
  #writing: Promise<void> = Promise.resolve()

  constructor(options: DestinationGateOptions) {
    this.#o = options
    const { scheduleMs, requestsPerSecond } = options.destination
    this.#circuit = new Circuit(options.clock, {
      failuresToOpen: FAILURES_TO_OPEN,
      backoffBaseMs: Math.min(CIRCUIT_BASE_MS, scheduleMs[0] ?? CIRCUIT_BASE_MS),
      backoffCapMs: CIRCUIT_CAP_MS,
    })
    this.#limiter = requestsPerSecond === null ? null : new RateLimiter(options.clock, requestsPerSecond)
  }

  /** For how long it is thought dead and nothing is tried, in milliseconds. Rests that it asked for are kept by the store. */
  get deadMs(): number {
    return this.#circuit.waitMs()
  }

  /** Whether only one try at a time may find out whether it is alive again. */
  get probing(): boolean {
    return this.#circuit.isOpen
  }

  /** Tries a second that are allowed now; null when there is no limit. */
  get rate(): number | null {
    return this.#limiter?.rate ?? null
  }

  /**
   * The store gave something to send: no rest and no stop that it knew of holds any more. After one that was brought meanwhile, all of
   * them hold until the store, which knows of it then, gives something again.
   * @param written what `settled` gave before the store was asked.
   */
  begin(written: number): void {
    if (written !== this.#brought) return
    this.#stopped = false
    this.#stopWritten = false
    this.#restUntil = Number.NEGATIVE_INFINITY
  }

  shareAmong(processes: number): void {
    this.#limiter?.shareAmong(processes)
  }

  /**
   * Looks what others have done: an operator, or another process. One that they have stopped, or that asked them for a rest, is sent nothing
   * of what is claimed already; one that they let go on, or found alive, is tried without waiting for the end of the circuit's pause.
   * @param claimed whether anything is.
   */
  async refresh(claimed: boolean): Promise<void> {
    const { db, clock, log, destination } = this.#o
    if (!(claimed || this.deadMs > 0) || clock.steady() < this.#heedAt) return
    this.#heedAt = clock.steady() + HEED_MS
    await this.settled()
    // A store that is away says nothing.
    const stand = await destinationReadiness(db.read, destination.name).catch(() => null)
    if (stand === null) return
    if (this.deadMs > 0) {
      // Where the pause could not be written down, that the store knows of no failures says nothing.
      if (stand.isOpen && stand.failures === 0 && this.#pauseUntil !== null) this.#circuit.probeNow()
    } else if (!stand.isOpen && !this.#stopped && this.#restUntil <= clock.steady()) {
      this.#holdBack()
      log.info({ destination: destination.name }, `destination ${destination.name} is stopped, or rests; what was claimed for it waits`)
    }
  }

  /** Until the store gives something again. */
  #holdBack(): void {
    this.#stopped = true
    this.#brought += 1
  }

  /** Waits for the turn that the rate gives. @returns false when `signal` aborted before. */
  async turn(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || this.#limiter === null) return !signal.aborted
    return await this.#limiter.take('live', signal).then(
      () => true,
      () => false,
    )
  }

  /** Gives back a turn that was not used. */
  release(): void {
    this.#limiter?.release()
  }

  /** @returns leave for one try, to be settled; null when nothing may be sent now. */
  admit(): Permit | null {
    if (this.#stopped || this.#restUntil > this.#o.clock.steady()) return null
    return this.#circuit.admit()
  }

  /** What a try showed of the destination. @param outcome null when it was given up by ourselves. */
  settle(permit: Permit, outcome: Outcome | null): void {
    const wasOpen = this.#circuit.isOpen
    const found = aliveness(outcome)
    this.#circuit.settle(permit, found)
    if (this.#circuit.isOpen !== wasOpen) this.#turned()
    else if (permit.probe && found === 'dead') this.#pause()
    // "At once" asks for nothing.
    const askedMs = (outcome && askedRestMs(outcome)) ?? 0
    if (askedMs > 0) this.#asked(askedMs)
    if (outcome?.type === 'stop') this.#stop(outcome)
  }

  /** Resolves when everything that was to be written down is, or could not be. @returns how much that was, for `begin`. */
  async settled(): Promise<number> {
    const written = this.#brought
    await this.#writing
    return written
  }

  #turned(): void {
    const { clock, observer, log, destination } = this.#o
    const { isOpen, failures } = this.#circuit
    const { name } = destination
    observer.set('push_circuit_open', isOpen ? 1 : 0, { destination: name })
    if (isOpen) {
      log.warn({ destination: name, failures }, `destination ${name} did not answer ${failures} times in a row; it is tried now and then`)
      this.#pause()
    } else {
      log.info({ destination: name }, `destination ${name} answers again`)
      this.#write((db) => endBackoff(db, name, this.#pauseUntil, this.#restUntil - clock.steady()))
    }
  }

  #pause(): void {
    const { name } = this.#o.destination
    const { failures } = this.#circuit
    const pauseMs = this.#circuit.waitMs()
    this.#pauseUntil = null
    this.#write(async (db) => {
      this.#pauseUntil = await backOffDestination(db, name, pauseMs, failures)
    })
  }

  #asked(pauseMs: number): void {
    const { clock, log, destination } = this.#o
    const until = clock.steady() + pauseMs
    if (until <= this.#restUntil + SAME_REST_MS) return
    this.#restUntil = until
    this.#brought += 1
    log.info({ destination: destination.name, pauseMs }, `destination ${destination.name} asks to be left alone for ${pauseMs} ms`)
    const { failures } = this.#circuit
    this.#write((db) => backOffDestination(db, destination.name, pauseMs, failures))
  }

  #stop(outcome: Extract<Outcome, { type: 'stop' }>): void {
    if (this.#stopWritten) return
    this.#stopWritten = true
    this.#holdBack()
    const { log, destination } = this.#o
    const { name } = destination
    const { state, error, status } = outcome
    log.error(
      { destination: name, status },
      `destination ${name} is ${state}: ${error}; nothing more is sent until \`submission-mirror destination resume ${name}\``,
    )
    this.#write((db) => setDestinationState(db, name, state, error))
  }

  /** A store that is away is no reason to fail: what is known here still holds in this process. */
  #write(work: (db: Db) => Promise<unknown>): void {
    const { db, log, destination } = this.#o
    this.#writing = this.#writing
      .then(async () => void (await work(db)))
      .catch((error: unknown) => log.warn({ destination: destination.name, err: error }, messageOf(error)))
  }
}

function aliveness(outcome: Outcome | null): 'alive' | 'dead' | 'unknown' {
  if (outcome === null || outcome.type === 'unmapped') return 'unknown'
  if (outcome.type === 'unknown') return isBroken(outcome.status) ? 'dead' : 'alive'
  if (outcome.type !== 'failed' || outcome.alive === true) return 'alive'
  return outcome.alive === null ? 'unknown' : 'dead'
}
