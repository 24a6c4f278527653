import { Circuit, type Permit } from '../../base/circuit.ts'
import { messageOf } from '../../base/errors.ts'
import { RateLimiter } from '../../base/limiter.ts'
import type { DestinationConfig } from '../../config/config.ts'
import { settingsFingerprint } from '../../config/same-settings.ts'
import { maskedText, shownOutcome } from '../../model/masking.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, ServiceParts } from '../../store/engine/db.ts'
import { backOffDestination, destinationReadiness, endBackoff } from '../../store/outbox/destinations.ts'
import { endSuspension, postponeProbe, probeNow, suspendDestination } from '../../store/outbox/suspensions.ts'
import { FAILURES_TO_OPEN, type Outcome } from '../contract/delivery.ts'
import { isBroken, isRefusal, requestedPauseMs } from '../contract/outcomes.ts'

const CIRCUIT_BASE_MS = 5_000
const CIRCUIT_CAP_MS = 60_000
/**
 * If a requested pause ends at most this many ms after the current pause, the request is ignored. Several answers may
 * request the same pause.
 */
const SAME_PAUSE_MS = 250
/** How often the destination's stored state is read, in ms. */
const REFRESH_MS = 1_000

export interface DestinationGateOptions extends ServiceParts {
  readonly destination: Pick<DestinationConfig, 'name' | 'rps' | 'scheduleMs'>
}

/**
 * Decides whether anything may be sent to a destination now. Considers rate, circuit, requested pauses (`Retry-After`),
 * and the stored state. Pauses and suspensions are stored, so other processes respect them, and so does this process
 * after a restart.
 */
export class DestinationGate {
  readonly #o: DestinationGateOptions
  readonly #circuit: Circuit
  /** First delay after the circuit opens or the destination is suspended, in ms. */
  readonly #baseMs: number
  readonly #limiter: RateLimiter | null
  /** End of the pause that the target requested, by the steady clock. The circuit has its own pause. */
  #pausedUntil = Number.NEGATIVE_INFINITY
  #isStopped = false
  /** Whether the suspension is stored. Suspensions that other attempts in flight report are then ignored. */
  #isSuspensionStored = false
  /** Whether this process has claimed the row that tests the suspended destination. */
  #isProbe = false
  #fingerprint: Promise<string> | null = null
  /** How often this process has halted sending, for example because of a pause or a suspension. */
  #halts = 0
  /** Stored end of the circuit's latest pause. Null until the pause is stored. */
  #circuitUntil: TimeText | null = null
  #refreshAt = Number.NEGATIVE_INFINITY
  /** Writes run one after another, in order, so that the newest state is stored last. */
  #writing: Promise<void> = Promise.resolve()

  constructor(options: DestinationGateOptions) {
    this.#o = options
    const { scheduleMs, rps } = options.destination
    this.#baseMs = Math.min(CIRCUIT_BASE_MS, scheduleMs[0] ?? CIRCUIT_BASE_MS)
    this.#circuit = new Circuit(options.clock, {
      failuresToOpen: FAILURES_TO_OPEN,
      backoffBaseMs: this.#baseMs,
      backoffCapMs: CIRCUIT_CAP_MS,
    })
    this.#limiter = rps === null ? null : new RateLimiter(options.clock, rps)
  }

  get circuitWaitMs(): number {
    return this.#circuit.waitMs()
  }

  /** Whether only one attempt at a time is allowed, because the circuit is open or half open. */
  get isProbing(): boolean {
    return this.#circuit.isOpen
  }

  /** Allowed attempts per second; null if unlimited. */
  get rate(): number | null {
    return this.#limiter?.rate ?? null
  }

  /** Divides the rate among this many processes that send to the destination. */
  shareAmong(processes: number): void {
    this.#limiter?.shareAmong(processes)
  }

  /**
   * Call this after a claim returned rows. The database returns no rows of a paused destination, and only a test row of
   * a suspended destination. If this process halted sending again since `flush`, the gate stays closed until a later
   * claim returns rows.
   * @param halts result of `flush` before the claim.
   * @param isProbe whether the claimed row tests a suspended destination.
   */
  reopen(halts: number, isProbe = false): void {
    this.#isProbe = isProbe
    if (halts !== this.#halts) return
    this.#isStopped = false
    this.#isSuspensionStored = false
    this.#pausedUntil = Number.NEGATIVE_INFINITY
  }

  /**
   * Reads the destination's stored state, which operators and other processes change. If the destination is suspended
   * or paused, claimed rows aren't sent. If the destination was resumed or answered another process, the next attempt
   * doesn't wait for the circuit.
   * @param hasClaims whether this process has claimed rows.
   */
  async refresh(hasClaims: boolean): Promise<void> {
    const { db, clock, log, destination } = this.#o
    if (this.#isProbe || !(hasClaims || this.circuitWaitMs > 0) || clock.steady() < this.#refreshAt) return
    this.#refreshAt = clock.steady() + REFRESH_MS
    await this.flush()
    const stored = await destinationReadiness(db.read, destination.name).catch(() => null)
    // The database didn't answer.
    if (stored === null) return
    if (this.circuitWaitMs > 0) {
      // A stored failure count of 0 shows that the destination was resumed or answered another process. If the
      // circuit's pause was never stored, the count shows nothing.
      if (stored.isOpen && stored.failures === 0 && this.#circuitUntil !== null) this.#circuit.probeNow()
    } else if (!stored.isOpen && !this.#isStopped && this.#pausedUntil <= clock.steady()) {
      this.#halt()
      log.info({ destination: destination.name }, `destination ${destination.name} is suspended or paused; its claimed changes wait`)
    }
  }

  /** Stops sending until a later claim returns rows (see `reopen`). */
  #halt(): void {
    this.#isStopped = true
    this.#halts += 1
  }

  /**
   * Waits until the rate allows an attempt.
   * @returns false if `signal` aborts first.
   */
  async turn(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted || this.#limiter === null) return !signal.aborted
    return await this.#limiter.take('live', signal).then(
      () => true,
      () => false,
    )
  }

  release(): void {
    this.#limiter?.release()
  }

  /**
   * @returns a permit for one attempt, to pass to `settle`. Null if nothing may be sent now. The attempt then doesn't
   * count for the rate limit.
   */
  admit(): Permit | null {
    const isHalted = this.#isStopped || this.#pausedUntil > this.#o.clock.steady()
    const permit = isHalted ? null : this.#circuit.admit()
    if (permit === null) this.release()
    return permit
  }

  /**
   * Updates the circuit and the stored state after an attempt.
   * @param outcome null if nothing was sent, or if this process aborted the attempt.
   */
  settle(permit: Permit, outcome: Outcome | null): void {
    const wasOpen = this.#circuit.isOpen
    // A failed probe of a suspended destination doesn't count for the circuit, because probes have their own delays.
    const aliveness = this.#isProbe && !isAccepted(outcome) ? 'unknown' : alivenessOf(outcome)
    this.#circuit.settle(permit, aliveness)
    if (this.#circuit.isOpen !== wasOpen) this.#circuitTurned()
    else if (permit.probe && aliveness === 'dead') this.#storeCircuitPause()
    const pauseMs = (outcome && requestedPauseMs(outcome)) ?? 0
    if (pauseMs > 0 && !this.#isProbe) this.#pause(pauseMs)
    if (outcome?.type === 'suspend') this.#suspend(outcome)
    else if (this.#isProbe) this.#settleProbe(outcome)
  }

  /** Call this if the row that tests a suspended destination wasn't sent. Another row may then test the destination. */
  releaseProbe(): void {
    if (this.#isProbe) this.#settleProbe(null)
  }

  #settleProbe(outcome: Outcome | null): void {
    const { log, destination } = this.#o
    const { name } = destination
    this.#isProbe = false
    if (isAccepted(outcome)) {
      log.info({ destination: name }, `destination ${name} is active again`)
      this.#write((db) => endSuspension(db, name))
    } else if (alivenessOf(outcome) === 'unknown') this.#write((db) => probeNow(db, name))
    else {
      const leastMs = (outcome && requestedPauseMs(outcome)) ?? 0
      this.#write((db) => postponeProbe(db, name, { retry: 'soon', baseMs: this.#baseMs, leastMs }))
    }
    this.#halt()
  }

  /**
   * Waits until all writes have finished or failed.
   * @returns how often sending had halted when `flush` was called, for `reopen`.
   */
  async flush(): Promise<number> {
    const halts = this.#halts
    await this.#writing
    return halts
  }

  #circuitTurned(): void {
    const { clock, observer, log, destination } = this.#o
    const { isOpen, failures } = this.#circuit
    const { name } = destination
    observer.set('push_circuit_open', isOpen ? 1 : 0, { destination: name })
    if (isOpen) {
      log.warn({ destination: name, failures }, `destination ${name} did not answer ${failures} times in a row; single attempts continue`)
      this.#storeCircuitPause()
    } else {
      log.info({ destination: name }, `destination ${name} answers again`)
      this.#write((db) => endBackoff(db, name, this.#circuitUntil, this.#pausedUntil - clock.steady()))
    }
  }

  #storeCircuitPause(): void {
    const { name } = this.#o.destination
    const { failures } = this.#circuit
    const pauseMs = this.#circuit.waitMs()
    this.#circuitUntil = null
    this.#write(async (db) => {
      this.#circuitUntil = await backOffDestination(db, name, pauseMs, failures)
    })
  }

  #pause(pauseMs: number): void {
    const { clock, log, destination } = this.#o
    const { name } = destination
    const until = clock.steady() + pauseMs
    if (until <= this.#pausedUntil + SAME_PAUSE_MS) return
    this.#pausedUntil = until
    this.#halts += 1
    log.info({ destination: name, pauseMs }, `destination ${name} asked for a pause of ${Math.ceil(pauseMs / 1000)} s`)
    const { failures } = this.#circuit
    this.#write((db) => backOffDestination(db, name, pauseMs, failures))
  }

  #suspend({ retry, error, status, retryAfterMs }: Extract<Outcome, { type: 'suspend' }>): void {
    if (this.#isSuspensionStored) return
    this.#isSuspensionStored = true
    this.#isProbe = false
    this.#halt()
    const { log, destination } = this.#o
    const { name } = destination
    // Logs, lists, and alarms show the reason, so the reason must not contain personal values. Only the answer to a
    // login (`slowly`) never contains such values, so only this answer's text is shown.
    const reason = retry === 'slowly' ? maskedText(error) : shownOutcome(error, status)
    const next =
      retry === 'manually'
        ? `until \`submission-mirror destination resume ${name}\``
        : 'except single changes that test whether it works again'
    log.error({ destination: name, status }, `destination ${name} is suspended: ${reason}; nothing is sent ${next}`)
    const delay = { retry, baseMs: this.#baseMs, leastMs: retryAfterMs ?? 0 }
    this.#fingerprint ??= settingsFingerprint(destination)
    const fingerprint = this.#fingerprint
    this.#write(async (db) => suspendDestination(db, name, { ...delay, reason, refusedWith: await fingerprint }))
  }

  /** Stores the state. A failed write is only logged, because the pause or suspension still applies in this process. */
  #write(work: (db: Db) => Promise<unknown>): void {
    const { db, log, destination } = this.#o
    const { name } = destination
    const failed = (error: unknown) =>
      log.warn({ destination: name, err: error }, `the state of destination ${name} could not be stored: ${messageOf(error)}`)
    this.#writing = this.#writing.then(() => work(db)).then(() => {}, failed)
  }
}

/**
 * @returns whether the endpoint accepts messages: the endpoint accepted this message, or rejected only this message.
 */
function isAccepted(outcome: Outcome | null): boolean {
  if (outcome?.type === 'delivered' || outcome?.type === 'record_taken') return true
  return (outcome?.type === 'failed' || outcome?.type === 'split') && outcome.status !== null && isRefusal(outcome.status)
}

function alivenessOf(outcome: Outcome | null): 'alive' | 'dead' | 'unknown' {
  if (
    outcome === null ||
    outcome.type === 'unmapped' ||
    outcome.type === 'not_attempted' ||
    (outcome.type === 'split' && outcome.status === null)
  )
    return 'unknown'
  if (outcome.type === 'unknown') return isBroken(outcome.status) ? 'dead' : 'alive'
  if (outcome.type !== 'failed' || outcome.alive === true) return 'alive'
  return outcome.alive === null ? 'unknown' : 'dead'
}
