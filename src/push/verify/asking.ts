import type { Permit } from '../../base/circuit.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { destinationReadiness } from '../../store/outbox/destinations.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import type { DeliveryKind, Outcome, Presence, PushItem } from '../contract/delivery.ts'
import { localFailure, lookupWaitMs, requestedPauseMs } from '../contract/outcomes.ts'
import type { DestinationGate } from '../send/destination-gate.ts'
import { itemMaker } from '../send/item.ts'

/** Longest wait until a request is allowed, in ms. If the target requested a pause, the wait starts after the pause. */
const PATIENCE_MS = 60_000
const LONGEST_PAUSE_MS = 3_600_000
/** Maximum requests for one row. Each answer that requests a pause is followed by another request. */
const MOST_LOOKS = 5
/** How often to check whether requests are allowed, in ms. */
const LOOK_MS = 500

const ANSWERED: Outcome = { type: 'delivered', status: null, remoteId: null, detail: null }

type CanVerify = NonNullable<DeliveryKind['verify']>

export interface AskingOptions extends ServiceParts {
  readonly destination: DestinationConfig
  readonly verify: CanVerify
  /** See `DeliveryKind`. */
  readonly lookupAfterMs?: number | undefined
  readonly gate: DestinationGate
  /** Aborts requests in flight. */
  readonly signal: AbortSignal
}

/**
 * Asks a target whether it still has the rows that it accepted. Respects rate limit, circuit breaker, pauses, and
 * suspensions.
 */
export class Asking {
  readonly #o: AskingOptions
  readonly #itemOf: ReturnType<typeof itemMaker>
  /** End of the pause that the target requested, by the steady clock. */
  #pausedUntil = Number.NEGATIVE_INFINITY

  constructor(options: AskingOptions) {
    this.#o = options
    this.#itemOf = itemMaker(options.destination)
  }

  /**
   * Asks about several rows at the same time.
   * @returns the answers in order. If requests are no longer allowed, the remaining answers are null.
   * @throws the reason of the signal.
   */
  async all(rows: readonly OutboxRow[]): Promise<(Presence | null)[]> {
    const answers: (Presence | null)[] = rows.map(() => null)
    const waiting = rows.entries()
    const worker = async () => {
      for (const [index, row] of waiting) {
        const answer = await this.#ask(row)
        answers[index] = answer
        // Empties the iterator, so that the other workers end after their current row.
        if (answer === null) return void Array.from(waiting)
      }
    }
    await Promise.all(Array.from({ length: this.#o.destination.concurrency }, worker))
    this.#o.signal.throwIfAborted()
    return answers
  }

  async #ask(row: OutboxRow): Promise<Presence | null> {
    const reason = this.#reasonNotToAsk(row)
    if (reason !== null) return { type: 'undetermined', outcome: localFailure(reason, false) }
    const item: PushItem = this.#itemOf(row)
    for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
      const permit = await this.#permit()
      if (permit === null) return null
      const answer = await this.#look(item, permit)
      // Until `lookup_after` has passed since the attempt, the target may not show the row yet.
      if (answer.type === 'lacks' && lookupWaitMs(this.#o.lookupAfterMs, row.triedAt ?? row.changedAt, this.#o.clock) > 0)
        return {
          type: 'undetermined',
          outcome: localFailure('the target does not show the record, but may show it later (`lookup_after`)', false),
        }
      if (answer.type !== 'undetermined' || !['suspend', 'throttled'].includes(answer.outcome.type)) return answer
      if (answer.outcome.type === 'suspend') return null
    }
    return null
  }

  async #look(item: PushItem, permit: Permit): Promise<Presence> {
    const { verify, gate, clock, signal } = this.#o
    const answer = await verify(item, signal)
    const outcome = answer.type === 'undetermined' ? answer.outcome : ANSWERED
    gate.settle(permit, signal.aborted ? null : outcome)
    const pauseMs = Math.min(requestedPauseMs(outcome) ?? 0, LONGEST_PAUSE_MS)
    if (pauseMs > 0) this.#pausedUntil = Math.max(this.#pausedUntil, clock.steady() + pauseMs)
    return answer
  }

  #reasonNotToAsk({ changedAt, mapping }: OutboxRow): string | null {
    if (changedAt === '') return 'the change is no longer in the change log'
    return mapping === null && this.#o.destination.mapping !== 'none' ? 'the submission is no longer mapped to a client' : null
  }

  /**
   * Waits until a request is allowed.
   * @returns null if waiting doesn't help, or if no request was allowed for `PATIENCE_MS`.
   */
  async #permit(): Promise<Permit | null> {
    const { gate, clock, signal } = this.#o
    const since = clock.steady()
    while (await gate.turn(signal)) {
      const permit = gate.admit()
      if (permit !== null) return permit
      const now = clock.steady()
      if (!(await this.#isWorthWaiting()) || now >= Math.max(since, this.#pausedUntil) + PATIENCE_MS) return null
      const waitMs = Math.max(gate.circuitWaitMs, this.#pausedUntil - now)
      await clock.sleep(Math.max(LOOK_MS, Math.min(waitMs, PATIENCE_MS)), signal)
    }
    signal.throwIfAborted()
    return null
  }

  /**
   * @returns whether to keep waiting for the target. False if the destination is suspended or paused. If the stored
   * throttle has expired, reopens the gate.
   */
  async #isWorthWaiting(): Promise<boolean> {
    const { db, gate, destination } = this.#o
    const halts = await gate.flush()
    const stored = await destinationReadiness(db.read, destination.name)
    if (stored?.isOpen) gate.reopen(halts)
    return stored !== null && stored.state === 'active'
  }
}
