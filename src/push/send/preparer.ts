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

export const NO_OUTCOME: Outcome = { type: 'unknown', error: 'the sender reported no outcome' }

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
  async prepare(row: OutboxRow, canceled: AbortSignal): Promise<Prepared> {
    try {
      if (row.changedAt === '') return this.#withoutAttempt(row, planLost(row, this.#o.destination))
      const item = this.itemOf(row)
      const reason = notSentReason(this.#o.destination, item, row.resent !== null)
      if (reason !== null) return this.#withoutAttempt(row, planSkipped(row, reason))
      return await this.#complete(row, item, canceled)
    } catch (error) {
      return { type: 'done', outcome: null, plan: this.plan(row, lookupFailure(error), row.uncertain, canceled) }
    }
  }

  /** @returns whether `prepare` asks the target whether an earlier attempt of the row arrived. */
  looksUp(row: OutboxRow): boolean {
    return this.#o.kind.lookUp !== undefined && !this.#isSafe(row)
  }

  /**
   * @returns whether the row may be sent without a lookup. True if duplicates are harmless, if the target can't have
   * the message, or if the next attempt continues from stored progress.
   */
  #isSafe(row: OutboxRow): boolean {
    return !row.uncertain || row.progress !== null || this.#o.destination.idempotent
  }

  #withoutAttempt(row: OutboxRow, plan: AttemptPlan): Prepared {
    this.#reports.attempted(row, NO_OUTCOME, plan)
    return { type: 'done', outcome: null, plan }
  }

  /** Finds the AMS client, and looks up whether an earlier attempt arrived. */
  async #complete(row: OutboxRow, item: PushItem, canceled: AbortSignal): Promise<Prepared> {
    const { destination } = this.#o
    const isMapped = item.mapping !== null || destination.mapping === 'none'
    const mapping = isMapped ? item.mapping : await this.#findMapping(item, canceled)
    if (mapping !== null && 'type' in mapping) {
      return { type: 'done', outcome: mapping, plan: this.plan(row, mapping, row.uncertain, canceled) }
    }
    const mapped = isMapped ? item : { ...item, mapping }
    const earlier = this.#isSafe(row) ? null : ((await this.#lookUp(mapped, canceled)) ?? this.#notYet(row))
    if (earlier === null) return { type: 'send', item: mapped }
    return { type: 'done', outcome: earlier, plan: this.plan(row, earlier, true, canceled) }
  }

  async #findMapping(item: PushItem, canceled: AbortSignal): Promise<Mapping | Outcome> {
    const { db, kind, destination } = this.#o
    const { account, submissionId } = item
    const unmapped: Outcome = { type: 'unmapped', error: 'the submission is not mapped to a client' }
    if (destination.mapping !== 'lookup' || !kind.findMapping || submissionId === null) return unmapped
    try {
      const found = await kind.findMapping(item, canceled)
      if (found === null) return unmapped
      await storeMappings(db, [{ destination: destination.name, account, submissionId, ...found }], 'lookup')
      return found
    } catch (error) {
      return lookupFailure(error)
    }
  }

  /**
   * Looks up a message at the target.
   * @returns null if the lookup finds nothing. If the kind has no lookup, the outcome is unknown.
   */
  async #lookUp(item: PushItem, canceled: AbortSignal): Promise<Outcome | null> {
    const { kind } = this.#o
    if (!kind.lookUp)
      return { type: 'unknown', error: 'the change may have been sent by a process that died, or before a backup was restored' }
    return await kind.lookUp(item, canceled).catch(lookupFailure)
  }

  /**
   * @returns a throttled outcome if the earlier attempt is too recent for a conclusive lookup (`lookupAfterMs`);
   * otherwise null.
   */
  #notYet({ triedAt }: OutboxRow): Outcome | null {
    const { kind, clock } = this.#o
    const waitMs = lookupWaitMs(kind.lookupAfterMs, triedAt ?? timeFromMs(clock.now()), clock)
    if (waitMs <= 0) return null
    const error = 'the lookup did not find the earlier attempt; the target may show it later (`lookup_after`), so the lookup is repeated'
    return { type: 'throttled', status: null, error, retryAfterMs: waitMs, isOwn: true }
  }

  /**
   * Plans what follows an outcome.
   * @param isLookup whether the outcome is from preparing a row whose earlier attempt may have arrived.
   */
  plan(row: OutboxRow, outcome: Outcome, isLookup: boolean, canceled: AbortSignal): AttemptPlan {
    const { destination, clock, kind } = this.#o
    const isAborted = canceled.aborted && (outcome.type === 'failed' ? !outcome.alive : outcome.type === 'unknown')
    // This process aborted the attempt. Nothing was sent, or repeating is harmless, so the attempt doesn't count.
    if (isAborted && (destination.idempotent || isLookup || outcome.type === 'failed')) return planNotAttempted(row, outcome)
    const plan = planAttempt(row, outcome, { destination, clock, canLookUp: kind.lookUp !== undefined }, isLookup)
    if (outcome.type !== 'not_attempted' && outcome.type !== 'split') this.#reports.attempted(row, outcome, plan)
    return plan
  }
}
