import type { DestinationConfig } from '../../config/config.ts'
import { timeFromMs } from '../../model/time.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { storeMappings } from '../../store/outbox/push-map.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import type { DeliveryKind, Mapping, Outcome, PushItem } from '../contract/delivery.ts'
import { lookupFailure, lookupWaitMs } from '../contract/outcomes.ts'
import { type AttemptPlan, planAttempt, planLost, planNotAttempted, planSkipped } from './attempt-plan.ts'
import { type ItemMaker, itemMaker, notSentReason } from './item.ts'
import type { Reports } from './reports.ts'

export interface PreparerOptions extends ServiceParts {
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
}

/**
 * `send`: the item must be sent. `done`: nothing is sent now, and `plan` says what follows. `outcome` is the result of
 * searching for the AMS client or for an earlier attempt; null without such a search.
 */
export type Prepared =
  | { readonly type: 'send'; readonly item: PushItem }
  | { readonly type: 'done'; readonly outcome: Outcome | null; readonly plan: AttemptPlan }

export const NO_OUTCOME: Outcome = { type: 'unknown', error: 'the sender gave no outcome' }

/** Prepares outbox rows for an attempt. After the attempt, plans what follows. */
export class Preparer {
  readonly #o: PreparerOptions
  readonly #reports: Reports
  readonly itemOf: ItemMaker

  constructor(options: PreparerOptions, reports: Reports) {
    this.#o = options
    this.#reports = reports
    this.itemOf = itemMaker(options.destination)
  }

  /** Prepares a row. A failed preparation counts as a failed attempt. Otherwise, the row would be retried forever. */
  async prepare(row: OutboxRow, cancelled: AbortSignal): Promise<Prepared> {
    try {
      if (row.changedAt === '') return this.#withoutAttempt(row, planLost(row, this.#o.destination))
      const item = this.itemOf(row)
      const reason = notSentReason(this.#o.destination, item, row.resent !== null)
      if (reason !== null) return this.#withoutAttempt(row, planSkipped(row, reason))
      return await this.#complete(row, item, cancelled)
    } catch (error) {
      return { type: 'done', outcome: null, plan: this.plan(row, lookupFailure(error), row.uncertain, cancelled) }
    }
  }

  /** @returns whether `prepare` asks the target whether an earlier attempt of the row arrived. */
  looksUp(row: OutboxRow): boolean {
    return this.#o.kind.lookUp !== undefined && !this.#isSafe(row)
  }

  /**
   * @returns whether the row may be sent without a lookup. True if no earlier attempt may have arrived, if duplicates
   * are harmless, or if the row has progress and continues the earlier attempt.
   */
  #isSafe(row: OutboxRow): boolean {
    return !row.uncertain || row.progress !== null || this.#o.destination.idempotent
  }

  #withoutAttempt(row: OutboxRow, plan: AttemptPlan): Prepared {
    this.#reports.attempted(row, NO_OUTCOME, plan)
    return { type: 'done', outcome: null, plan }
  }

  /** Finds the AMS client, and looks up whether an earlier attempt arrived. */
  async #complete(row: OutboxRow, item: PushItem, cancelled: AbortSignal): Promise<Prepared> {
    const { destination } = this.#o
    const isMapped = item.mapping !== null || destination.mapping === 'none'
    const mapping = isMapped ? item.mapping : await this.#findMapping(item, cancelled)
    if (mapping !== null && 'type' in mapping) {
      return { type: 'done', outcome: mapping, plan: this.plan(row, mapping, row.uncertain, cancelled) }
    }
    const mapped = isMapped ? item : { ...item, mapping }
    const earlier = this.#isSafe(row) ? null : ((await this.#lookUp(mapped, cancelled)) ?? this.#notYet(row))
    if (earlier === null) return { type: 'send', item: mapped }
    return { type: 'done', outcome: earlier, plan: this.plan(row, earlier, true, cancelled) }
  }

  async #findMapping(item: PushItem, cancelled: AbortSignal): Promise<Mapping | Outcome> {
    const { db, kind, destination } = this.#o
    const { account, submissionId } = item
    const unmapped: Outcome = { type: 'unmapped', error: 'no client is known for this submission' }
    if (destination.mapping !== 'lookup' || !kind.findMapping || submissionId === null) return unmapped
    try {
      const found = await kind.findMapping(item, cancelled)
      if (found === null) return unmapped
      await storeMappings(db, [{ destination: destination.name, account, submissionId, ...found }], 'lookup')
      return found
    } catch (error) {
      return lookupFailure(error)
    }
  }

  /**
   * Looks up a message at the target.
   * @returns null if the target doesn't have the message. The message may then be sent.
   */
  async #lookUp(item: PushItem, cancelled: AbortSignal): Promise<Outcome | null> {
    const { kind } = this.#o
    if (!kind.lookUp) return { type: 'unknown', error: 'it may have been sent, by a process that died or before a backup was restored' }
    return await kind.lookUp(item, cancelled).catch(lookupFailure)
  }

  /**
   * @returns a throttled outcome while the target may not show the earlier attempt yet. Null if the attempt is old
   * enough (`lookupAfterMs`).
   */
  #notYet({ triedAt }: OutboxRow): Outcome | null {
    const { kind, clock } = this.#o
    const waitMs = lookupWaitMs(kind.lookupAfterMs, triedAt ?? timeFromMs(clock.now()), clock)
    if (waitMs <= 0) return null
    const error = 'the target does not show the earlier attempt, but may still do so (`lookup_after`); it is looked up again'
    return { type: 'throttled', status: null, error, retryAfterMs: waitMs, isOwn: true }
  }

  /**
   * Plans what follows an outcome.
   * @param isLookup whether the outcome is from preparing a row whose earlier attempt may have arrived.
   */
  plan(row: OutboxRow, outcome: Outcome, isLookup: boolean, cancelled: AbortSignal): AttemptPlan {
    const { destination, clock, kind } = this.#o
    const isAborted = cancelled.aborted && (outcome.type === 'failed' ? !outcome.alive : outcome.type === 'unknown')
    // This process aborted the attempt. Nothing was sent, or repeating is harmless, so the attempt doesn't count.
    if (isAborted && (destination.idempotent || isLookup || outcome.type === 'failed')) return planNotAttempted(row, outcome)
    const plan = planAttempt(row, outcome, { destination, clock, canLookUp: kind.lookUp !== undefined }, isLookup)
    if (outcome.type !== 'not_attempted' && outcome.type !== 'split') this.#reports.attempted(row, outcome, plan)
    return plan
  }
}
