import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Observer } from '../../base/observer.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { Db } from '../../store/engine/db.ts'
import { storeMappings } from '../../store/outbox/push-map.ts'
import type { ClaimedLane, LaneResult, OutboxRow, RowResult } from '../../store/outbox/work.ts'
import { askingFailed } from '../adapters/adapter.ts'
import type { DeliveryKind, Mapping, Outcome, PushItem } from '../contract/delivery.ts'
import { askedRestMs } from '../contract/outcomes.ts'
import { type AttemptPlan, type LaneStep, planAttempt, planLost, planSkipped, planUntried } from './attempt-plan.ts'
import type { DestinationGate } from './destination-gate.ts'
import { type ItemMaker, itemMaker } from './item.ts'
import { notSentReason } from './not-sent-reason.ts'
import { Reports } from './reports.ts'

export interface RowSenderOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  readonly gate: DestinationGate
}

/** When to leave off: `stopping` before the next row, `over` in the middle of one. */
export interface Limits {
  readonly stopping: AbortSignal
  readonly over: AbortSignal
  /** No try of the lane begins later: its lease must not end under it. */
  readonly until: number
}

/** What is to be done with a row: send it, or nothing, because what becomes of it is known already. */
type Prepared =
  | { readonly type: 'send'; readonly item: PushItem }
  | { readonly type: 'done'; readonly outcome: Outcome | null; readonly plan: AttemptPlan }

/** Sends rows of claimed lanes, and says what became of them; it writes nothing of that down itself. */
export class RowSender {
  readonly #o: RowSenderOptions
  readonly #itemOf: ItemMaker
  readonly #reports: Reports

  constructor(options: RowSenderOptions) {
    this.#o = options
    this.#itemOf = itemMaker(options.destination)
    this.#reports = new Reports(options.clock, options.log, options.observer, options.destination.name)
  }

  /** Sends the rows of one lane, one after another, as far as it comes. @param paid whether the turn of the first one was waited for. */
  async sendLane(lane: ClaimedLane, limits: Limits, paid: boolean): Promise<LaneResult> {
    const rows: RowResult[] = []
    const given = new Map<string, string>()
    let step: LaneStep = { type: 'go_on' }
    for (const row of lane.rows) {
      if (!(paid && rows.length === 0) && !(await this.#turn(limits))) break
      const plan = await this.#tryOne(withGiven(row, given), limits.over)
      if (plan === null) break
      rows.push(plan.row)
      // Nothing was sent, so that the next one has its turn.
      if (plan.row.state === 'skipped') this.#o.gate.release()
      // What the target calls the record is not stored yet, and the lane may hold more of the record.
      if (plan.row.remoteId !== null) given.set(recordText(row), plan.row.remoteId)
      step = plan.lane
      if (step.type !== 'go_on') break
    }
    return { lane, rows, next: nextOf(step) }
  }

  /** Sends rows of many lanes together. @returns null when nothing may be sent now. */
  async sendTogether(lanes: readonly ClaimedLane[], limits: Limits): Promise<LaneResult[] | null> {
    const { gate, kind } = this.#o
    if (!(await this.#turn(limits))) return null
    // Gathering them, and their turn, may have taken long.
    await gate.refresh(true)
    const permit = gate.admit()
    if (permit === null) return null
    const batch = await this.#prepareAll(lanes, limits.over)
    const items = batch.flatMap(({ steps }) => steps.flatMap((step) => (step.type === 'send' ? [step.item] : [])))
    const startedAt = performance.now()
    const outcomes = items.length === 0 ? [] : await outcomesOf(kind, items, limits.over)
    const asked = batch.flatMap(({ steps }) => steps.flatMap((step) => (step.type === 'done' ? (step.outcome ?? []) : [])))
    gate.settle(permit, limits.over.aborted ? null : verdictOf([...asked, ...outcomes]))
    if (items.length > 0) this.#reports.took(startedAt)
    let sent = 0
    return batch.map(({ lane, steps }) => {
      const plans = steps.map((step, position) => {
        const row = lane.rows[position]
        if (step.type === 'done' || row === undefined) return (step as Extract<Prepared, { type: 'done' }>).plan
        return this.#planned(row, outcomes[sent++] ?? first([]), false, limits.over)
      })
      const stays = plans.find((plan) => plan.lane.type !== 'go_on')
      return { lane, rows: plans.map((plan) => plan.row), next: nextOf(stays?.lane ?? { type: 'go_on' }) }
    })
  }

  /** Whether the next try may begin now; where there is a rate, once it has its turn. */
  #turn({ stopping, until }: Limits): boolean | Promise<boolean> {
    const { gate, clock } = this.#o
    const leftMs = until - clock.now()
    if (stopping.aborted || leftMs < 0) return false
    return gate.rate === null || this.#rateTurn(stopping, leftMs, until)
  }

  /** Waits for it no longer than the lease leaves time for a try: at a slow rate a later claim gets it. */
  async #rateTurn(stopping: AbortSignal, leftMs: number, until: number): Promise<boolean> {
    const { gate, clock } = this.#o
    const enough = new AbortController()
    void clock.sleep(leftMs, enough.signal).then(() => enough.abort())
    const isOurs = await gate.turn(AbortSignal.any([stopping, enough.signal]))
    enough.abort()
    return isOurs && clock.now() <= until
  }

  /** @returns null when it may not be tried now. */
  async #tryOne(row: OutboxRow, over: AbortSignal): Promise<AttemptPlan | null> {
    const { gate, kind } = this.#o
    const permit = gate.admit()
    if (permit === null) return null
    let outcome: Outcome | null = null
    try {
      const prepared = await this.#prepare(row, over)
      if (prepared.type === 'done') {
        outcome = prepared.outcome
        return prepared.plan
      }
      const startedAt = performance.now()
      outcome = first(await outcomesOf(kind, [prepared.item], over))
      this.#reports.took(startedAt)
      return this.#planned(row, outcome, false, over)
    } finally {
      // What was broken off by ourselves says nothing of the target.
      gate.settle(permit, over.aborted ? null : outcome)
    }
  }

  /** The rows of each lane up to the first that is not to be sent now. */
  async #prepareAll(lanes: readonly ClaimedLane[], over: AbortSignal): Promise<{ lane: ClaimedLane; steps: Prepared[] }[]> {
    const batch: { lane: ClaimedLane; steps: Prepared[] }[] = []
    for (const lane of lanes) {
      const steps: Prepared[] = []
      for (const row of lane.rows) {
        const prepared = await this.#prepare(row, over)
        steps.push(prepared)
        if (prepared.type === 'done' && prepared.plan.lane.type !== 'go_on') break
      }
      batch.push({ lane, steps })
    }
    return batch
  }

  /**
   * What cannot be prepared, whatever the reason, is a failed try like any other: it must not come back for ever. Of nearly all nobody has
   * to be asked.
   */
  #prepare(row: OutboxRow, over: AbortSignal): Prepared | Promise<Prepared> {
    const failed = (error: unknown): Prepared => {
      return { type: 'done', outcome: null, plan: this.#planned(row, askingFailed(error), row.uncertain, over) }
    }
    try {
      if (row.changedAt === '') return this.#untried(row, planLost(row, this.#o.destination))
      const item = this.#itemOf(row)
      const why = notSentReason(this.#o.destination, item)
      if (why !== null) return this.#untried(row, planSkipped(row, why))
      return this.#isMapped(item) && this.#isSure(row) ? { type: 'send', item } : this.#asked(row, item, over).catch(failed)
    } catch (error) {
      return failed(error)
    }
  }

  #isMapped({ mapping }: PushItem): boolean {
    return mapping !== null || this.#o.destination.mapping === 'none'
  }

  /** Whether it may go out, whatever became of earlier tries. */
  #isSure({ uncertain }: OutboxRow): boolean {
    return !uncertain || this.#o.destination.idempotent
  }

  /** What asking for the client, and for what became of an earlier try, says. */
  async #asked(row: OutboxRow, item: PushItem, over: AbortSignal): Promise<Prepared> {
    const mapping = this.#isMapped(item) ? item.mapping : await this.#findMapping(item, over)
    if (mapping !== null && 'type' in mapping) {
      return { type: 'done', outcome: mapping, plan: this.#planned(row, mapping, row.uncertain, over) }
    }
    const mapped = { ...item, mapping }
    const seen = this.#isSure(row) ? null : await this.#lookUp(mapped, over)
    if (seen !== null) return { type: 'done', outcome: seen, plan: this.#planned(row, seen, true, over) }
    return { type: 'send', item: mapped }
  }

  #untried(row: OutboxRow, plan: AttemptPlan): Prepared {
    this.#reports.tried(row, first([]), plan)
    return { type: 'done', outcome: null, plan }
  }

  async #findMapping(item: PushItem, over: AbortSignal): Promise<Mapping | Outcome> {
    const { db, kind, destination } = this.#o
    const { account, submissionId } = item
    const unmapped: Outcome = { type: 'unmapped', error: 'no client is known for this submission' }
    if (destination.mapping !== 'lookup' || !kind.findMapping || submissionId === null) return unmapped
    try {
      const found = await kind.findMapping(item, over)
      if (found === null) return unmapped
      await storeMappings(db, [{ destination: destination.name, account, submissionId, ...found }], 'lookup')
      return found
    } catch (error) {
      return askingFailed(error)
    }
  }

  /** @returns null when the target does not have it: then it may be sent. */
  async #lookUp(item: PushItem, over: AbortSignal): Promise<Outcome | null> {
    const { kind } = this.#o
    if (!kind.lookUp)
      return {
        type: 'unknown',
        error: 'it may have been sent, by a process that died or before a backup was restored',
      }
    return await kind.lookUp(item, over).catch(askingFailed)
  }

  /** @param looked whether the outcome is of a look for an earlier try. */
  #planned(row: OutboxRow, outcome: Outcome, looked: boolean, over: AbortSignal): AttemptPlan {
    const { destination, clock, kind } = this.#o
    const brokenOff = over.aborted && (outcome.type === 'failed' ? !outcome.alive : outcome.type === 'unknown')
    // It does no harm to send it again, or it was not sent at all: this try did not take place.
    if (brokenOff && (destination.idempotent || looked || outcome.type === 'failed')) return planUntried(row)
    const plan = planAttempt(row, outcome, { destination, clock, canLookUp: kind.lookUp !== undefined }, looked)
    if (outcome.type !== 'untried') this.#reports.tried(row, outcome, plan)
    return plan
  }
}

function recordText({ entity, entityId }: OutboxRow): string {
  return `${entity} ${entityId}`
}

/** The row, with what the target has just called its record. @param given by record, what is not stored yet. */
function withGiven(row: OutboxRow, given: ReadonlyMap<string, string>): OutboxRow {
  const remoteId = given.size === 0 ? undefined : given.get(recordText(row))
  return remoteId === undefined ? row : { ...row, remoteId }
}

function nextOf(step: LaneStep): LaneResult['next'] {
  return step.type === 'go_on' ? { type: 'due', inMs: 0 } : step
}

/** One outcome for each of the items, whatever the kind does: one that is missing is one that nobody knows. */
async function outcomesOf(kind: DeliveryKind, items: readonly PushItem[], over: AbortSignal): Promise<readonly Outcome[]> {
  try {
    const outcomes = await kind.send(items, over)
    if (outcomes.length >= items.length) return outcomes
    return items.map((_, position) => outcomes[position] ?? { type: 'unknown', error: 'the sender gave no outcome' })
  } catch (error) {
    return items.map(() => ({ type: 'unknown', error: messageOf(error) }))
  }
}

/** What a batch says of its target: it is asked to stop, or nothing was taken, or it works. What was not begun says nothing. */
function verdictOf(outcomes: readonly Outcome[]): Outcome | null {
  const stop = outcomes.find((outcome) => outcome.type === 'stop')
  const asks = outcomes.find((outcome) => askedRestMs(outcome) !== null)
  return stop ?? asks ?? outcomes.findLast((outcome) => outcome.type !== 'untried') ?? null
}

function first(outcomes: readonly Outcome[]): Outcome {
  return outcomes[0] ?? { type: 'unknown', error: 'the sender gave no outcome' }
}
