import { withTimeout } from '../../base/abortable.ts'
import { messageOf } from '../../base/errors.ts'
import type { TimeLimit } from '../../base/time-limit.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { storeMappings } from '../../store/outbox/push-map.ts'
import type { ClaimedLane, LaneResult, OutboxRow, RowResult } from '../../store/outbox/work.ts'
import { lookupFailure } from '../adapters/adapter.ts'
import type { DeliveryKind, Mapping, Outcome, PushItem } from '../contract/delivery.ts'
import { requestedPauseMs } from '../contract/outcomes.ts'
import { type AttemptPlan, type LaneStep, planAttempt, planLost, planNotAttempted, planSkipped } from './attempt-plan.ts'
import type { DestinationGate } from './destination-gate.ts'
import { type ItemMaker, itemMaker } from './item.ts'
import { notSentReason } from './not-sent-reason.ts'
import { Reports } from './reports.ts'
import { Traces } from './traces.ts'

export interface RowSenderOptions extends ServiceParts {
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  readonly gate: DestinationGate
}

/** When to stop: `stopping` before the next row, `cancelled` in the middle of one. */
export interface Limits {
  readonly stopping: AbortSignal
  readonly cancelled: AbortSignal
  /** No attempt begins later: the lease of its lane must not end while it is in flight. */
  readonly until: TimeLimit
}

/** What to do with a row: send it, or nothing, because its result is known already. */
type Prepared =
  | { readonly type: 'send'; readonly item: PushItem }
  | { readonly type: 'done'; readonly outcome: Outcome | null; readonly plan: AttemptPlan }

interface PreparedLane {
  readonly lane: ClaimedLane
  readonly steps: readonly { readonly row: OutboxRow; readonly prepared: Prepared }[]
}

/** Sends the rows of claimed lanes and returns their results. It stores none of them. */
export class RowSender {
  readonly #o: RowSenderOptions
  readonly #itemOf: ItemMaker
  readonly #reports: Reports
  readonly #traces: Traces

  constructor(options: RowSenderOptions) {
    this.#o = options
    this.#itemOf = itemMaker(options.destination)
    this.#reports = new Reports(options.clock, options.log, options.observer, options.destination.name)
    this.#traces = new Traces(options)
  }

  /** Sends the rows of one lane, one after another, as far as possible. @param hasTurn whether the first row has its turn already. */
  async sendLane(lane: ClaimedLane, limits: Limits, hasTurn: boolean): Promise<LaneResult> {
    const rows: RowResult[] = []
    const newIds = new Map<string, string>()
    let step: LaneStep = { type: 'go_on' }
    for (const row of lane.rows) {
      if (!(hasTurn && rows.length === 0) && !(await this.#turn(limits))) break
      const plan = await this.#attempt(withNewId(row, newIds), limits.cancelled)
      if (plan === null) break
      rows.push(plan.row)
      if (plan.row.state === 'skipped') this.#o.gate.release()
      // The record's id at the target is not stored yet, and the lane may hold more changes of the record.
      if (plan.row.remoteId !== null) newIds.set(recordText(row), plan.row.remoteId)
      step = plan.lane
      if (step.type !== 'go_on') break
    }
    return { lane, rows, next: nextOf(step) }
  }

  /** Sends the rows of many lanes together. @returns null when nothing may be sent now. */
  async sendTogether(lanes: readonly ClaimedLane[], limits: Limits): Promise<LaneResult[] | null> {
    const { gate, kind } = this.#o
    const { cancelled } = limits
    if (!(await this.#turn(limits))) return null
    // Gathering the rows, and waiting for the turn, may have taken long.
    await gate.refresh(true)
    const permit = gate.admit()
    if (permit === null) return null
    const batch = await this.#prepareAll(lanes, cancelled)
    const all = batch.flatMap(({ steps }) => steps.map(({ prepared }) => prepared))
    const items = all.flatMap((prepared) => (prepared.type === 'send' ? [prepared.item] : []))
    const startedAt = performance.now()
    const trace = this.#traces.begin()
    const outcomes = items.length === 0 ? [] : await outcomesOf(kind, items, cancelled)
    const lookups = all.flatMap((prepared) => (prepared.type === 'done' ? (prepared.outcome ?? []) : []))
    gate.settle(permit, cancelled.aborted ? null : verdictOf([...lookups, ...outcomes]))
    if (items.length > 0) this.#reports.took(startedAt)
    trace(items, outcomes)
    let sent = 0
    return batch.map(({ lane, steps }) => {
      const plans = steps.map(({ row, prepared }) =>
        prepared.type === 'done' ? prepared.plan : this.#plan(row, outcomes[sent++] ?? NO_OUTCOME, false, cancelled),
      )
      const last = plans.find((plan) => plan.lane.type !== 'go_on')
      return { lane, rows: plans.map((plan) => plan.row), next: nextOf(last?.lane ?? { type: 'go_on' }) }
    })
  }

  /**
   * Whether the next attempt may begin now. Where there is a rate, waits for the turn, but only while the lease leaves time for an attempt:
   * at a slow rate a later claim gets the turn.
   */
  async #turn({ stopping, until }: Limits): Promise<boolean> {
    const { gate, clock } = this.#o
    const leftMs = until.leftMs()
    if (stopping.aborted || leftMs < 0) return false
    if (gate.rate === null) return true
    return (await withTimeout(clock, leftMs, stopping, (signal) => gate.turn(signal))) && until.leftMs() >= 0
  }

  /** @returns null when the row may not be sent now. */
  async #attempt(row: OutboxRow, cancelled: AbortSignal): Promise<AttemptPlan | null> {
    const { gate, kind } = this.#o
    const permit = gate.admit()
    if (permit === null) return null
    let outcome: Outcome | null = null
    try {
      const prepared = await this.#prepare(row, cancelled)
      if (prepared.type === 'done') {
        outcome = prepared.outcome
        return prepared.plan
      }
      const startedAt = performance.now()
      const trace = this.#traces.begin()
      const [first = NO_OUTCOME] = await outcomesOf(kind, [prepared.item], cancelled)
      outcome = first
      this.#reports.took(startedAt)
      trace([prepared.item], [first])
      return this.#plan(row, outcome, false, cancelled)
    } finally {
      // An attempt that we aborted ourselves says nothing about the target.
      gate.settle(permit, cancelled.aborted ? null : outcome)
    }
  }

  /** Prepares the rows of each lane, up to the first that stops its lane. */
  async #prepareAll(lanes: readonly ClaimedLane[], cancelled: AbortSignal): Promise<PreparedLane[]> {
    const batch: PreparedLane[] = []
    for (const lane of lanes) {
      const steps: { row: OutboxRow; prepared: Prepared }[] = []
      for (const row of lane.rows) {
        const prepared = await this.#prepare(row, cancelled)
        steps.push({ row, prepared })
        if (prepared.type === 'done' && prepared.plan.lane.type !== 'go_on') break
      }
      batch.push({ lane, steps })
    }
    return batch
  }

  /** Whatever keeps a row from being prepared counts as a failed attempt, so that no row is prepared for ever. */
  async #prepare(row: OutboxRow, cancelled: AbortSignal): Promise<Prepared> {
    try {
      if (row.changedAt === '') return this.#withoutAttempt(row, planLost(row, this.#o.destination))
      const item = this.#itemOf(row)
      const reason = notSentReason(this.#o.destination, item, row.resent !== null)
      if (reason !== null) return this.#withoutAttempt(row, planSkipped(row, reason))
      return await this.#complete(row, item, cancelled)
    } catch (error) {
      return { type: 'done', outcome: null, plan: this.#plan(row, lookupFailure(error), row.uncertain, cancelled) }
    }
  }

  #withoutAttempt(row: OutboxRow, plan: AttemptPlan): Prepared {
    this.#reports.attempted(row, NO_OUTCOME, plan)
    return { type: 'done', outcome: null, plan }
  }

  /** Looks up at the target what is missing: the client, and whether an earlier attempt arrived. */
  async #complete(row: OutboxRow, item: PushItem, cancelled: AbortSignal): Promise<Prepared> {
    const { destination } = this.#o
    const isMapped = item.mapping !== null || destination.mapping === 'none'
    const mapping = isMapped ? item.mapping : await this.#findMapping(item, cancelled)
    if (mapping !== null && 'type' in mapping) {
      return { type: 'done', outcome: mapping, plan: this.#plan(row, mapping, row.uncertain, cancelled) }
    }
    const mapped = isMapped ? item : { ...item, mapping }
    const isSafe = !row.uncertain || destination.idempotent
    const earlier = isSafe ? null : await this.#lookUp(mapped, cancelled)
    if (earlier === null) return { type: 'send', item: mapped }
    return { type: 'done', outcome: earlier, plan: this.#plan(row, earlier, true, cancelled) }
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

  /** @returns null when the target does not have the message: it may be sent. */
  async #lookUp(item: PushItem, cancelled: AbortSignal): Promise<Outcome | null> {
    const { kind } = this.#o
    if (!kind.lookUp) return { type: 'unknown', error: 'it may have been sent, by a process that died or before a backup was restored' }
    return await kind.lookUp(item, cancelled).catch(lookupFailure)
  }

  /** @param isLookup whether the outcome is that of a lookup of an earlier attempt. */
  #plan(row: OutboxRow, outcome: Outcome, isLookup: boolean, cancelled: AbortSignal): AttemptPlan {
    const { destination, clock, kind } = this.#o
    const isAborted = cancelled.aborted && (outcome.type === 'failed' ? !outcome.alive : outcome.type === 'unknown')
    // Sending it again does no harm, or it was never sent: this attempt does not count.
    if (isAborted && (destination.idempotent || isLookup || outcome.type === 'failed')) return planNotAttempted(row)
    const plan = planAttempt(row, outcome, { destination, clock, canLookUp: kind.lookUp !== undefined }, isLookup)
    if (outcome.type !== 'not_attempted') this.#reports.attempted(row, outcome, plan)
    return plan
  }
}

const NO_OUTCOME: Outcome = { type: 'unknown', error: 'the sender gave no outcome' }

function recordText({ entity, entityId }: OutboxRow): string {
  return `${entity} ${entityId}`
}

/** The row with the id at the target that its record has just got. @param newIds by record, those that are not stored yet. */
function withNewId(row: OutboxRow, newIds: ReadonlyMap<string, string>): OutboxRow {
  const remoteId = newIds.get(recordText(row))
  return remoteId === undefined ? row : { ...row, remoteId }
}

function nextOf(step: LaneStep): LaneResult['next'] {
  return step.type === 'go_on' ? { type: 'due', inMs: 0 } : step
}

/** One outcome for each item, whatever the kind does. A missing one is unknown. */
async function outcomesOf(kind: DeliveryKind, items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
  try {
    const outcomes = await kind.send(items, signal)
    return items.map((_, position) => outcomes[position] ?? NO_OUTCOME)
  } catch (error) {
    return items.map(() => ({ type: 'unknown', error: messageOf(error) }))
  }
}

/** What a batch says about its target: first that it must stop, then that it asked for a pause, else the last outcome of an attempt. */
function verdictOf(outcomes: readonly Outcome[]): Outcome | null {
  const stop = outcomes.find((outcome) => outcome.type === 'stop')
  const pause = outcomes.find((outcome) => requestedPauseMs(outcome) !== null)
  return stop ?? pause ?? outcomes.findLast((outcome) => outcome.type !== 'not_attempted') ?? null
}
