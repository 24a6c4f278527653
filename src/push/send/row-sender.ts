import { withTimeout } from '../../base/abortable.ts'
import { messageOf } from '../../base/errors.ts'
import type { TimeLimit } from '../../base/time-limit.ts'
import type { ClaimedStream, OutboxRow, RowResult, StreamResult } from '../../store/outbox/work.ts'
import type { DeliveryKind, Outcome, PushItem } from '../contract/delivery.ts'
import { requestedPauseMs } from '../contract/outcomes.ts'
import type { AttemptPlan, StreamStep } from './attempt-plan.ts'
import type { DestinationGate } from './destination-gate.ts'
import { NO_OUTCOME, type Prepared, Preparer, type PreparerOptions } from './preparer.ts'
import { Reports } from './reports.ts'

export interface RowSenderOptions extends PreparerOptions {
  readonly gate: DestinationGate
}

/**
 * When to stop. After `stopping` aborts, no new row begins. When `canceled` aborts, the attempt in flight is aborted.
 */
export interface Limits {
  readonly stopping: AbortSignal
  readonly canceled: AbortSignal
  /** Latest start of an attempt. An attempt must end before its stream's lease ends. */
  readonly until: TimeLimit
}

export interface SentTogether {
  readonly results: readonly StreamResult[]
  /** Whether the whole batch was rejected. Smaller batches may be accepted. */
  readonly isSplit: boolean
}

interface PreparedStream {
  readonly stream: ClaimedStream
  readonly steps: readonly { readonly row: OutboxRow; readonly prepared: Prepared }[]
}

/** Sends the rows of claimed streams. Returns the results without storing them. */
export class RowSender {
  readonly #o: RowSenderOptions
  readonly #reports: Reports
  readonly #preparer: Preparer

  constructor(options: RowSenderOptions) {
    this.#o = options
    this.#reports = new Reports(options)
    this.#preparer = new Preparer(options, this.#reports)
  }

  /**
   * Sends a stream's rows in order, until a row must wait.
   * @param hasTurn whether the rate limit already allowed the first row.
   */
  async sendStream(stream: ClaimedStream, limits: Limits, hasTurn: boolean): Promise<StreamResult> {
    const rows: RowResult[] = []
    const newIds = new Map<string, string>()
    let step: StreamStep = { type: 'go_on' }
    for (const row of stream.rows) {
      if (!(hasTurn && rows.length === 0) && !(await this.#turn(limits))) break
      const plan = await this.#attempt(withNewId(row, newIds), limits.canceled)
      if (plan === null) break
      rows.push(plan.row)
      if (plan.row.state === 'skipped') this.#o.gate.release()
      // The record's new id at the target isn't stored yet. Later rows of the stream may need this id.
      if (plan.row.remoteId !== null) newIds.set(recordText(row), plan.row.remoteId)
      step = plan.stream
      if (step.type !== 'go_on') break
    }
    return { stream, rows, next: nextOf(step) }
  }

  /**
   * Groups streams whose rows may be sent together. If the kind has groups, each stream has one row.
   * @returns the streams by group, in order.
   */
  grouped(streams: readonly ClaimedStream[]): ReadonlyMap<string, readonly ClaimedStream[]> {
    const { batch } = this.#o.kind
    const groups = new Map<string, ClaimedStream[]>()
    if (batch.type === 'one' || batch.groupOf === undefined) return groups.set('', [...streams])
    for (const stream of streams) {
      const [row] = stream.rows
      const group = row === undefined ? '' : batch.groupOf(this.#preparer.itemOf(row))
      const found = groups.get(group)
      if (found === undefined) groups.set(group, [stream])
      else found.push(stream)
    }
    return groups
  }

  /**
   * Sends rows of many streams in one batch.
   * @returns null if nothing may be sent now.
   */
  async sendTogether(streams: readonly ClaimedStream[], limits: Limits): Promise<SentTogether | null> {
    const { gate, kind } = this.#o
    const { canceled } = limits
    if (!(await this.#turn(limits))) return null
    // Reads the destination's state again, because gathering rows and waiting for the rate limit may have taken long.
    await gate.refresh(true)
    const permit = gate.admit()
    if (permit === null) return null
    const { prepared: batch, isHalted } = await this.#prepareAll(streams, limits)
    const all = batch.flatMap(({ steps }) => steps.map(({ prepared }) => prepared))
    const items = all.flatMap((prepared) => (prepared.type === 'send' ? [prepared.item] : []))
    const startedAt = performance.now()
    const trace = this.#reports.beginTrace()
    const isSent = items.length > 0 && !isHalted
    const outcomes = isSent ? await outcomesOf(kind, items, canceled) : items.map(() => NOT_ATTEMPTED)
    const lookups = all.flatMap((prepared) => (prepared.type === 'done' ? (prepared.outcome ?? []) : []))
    gate.settle(permit, canceled.aborted ? null : verdictOf([...lookups, ...outcomes]))
    if (!isSent) gate.release()
    if (isSent) this.#reports.took(startedAt)
    if (isSent) trace(items, outcomes)
    let sent = 0
    const results = batch.map(({ stream, steps }) => {
      const plans = steps.map(({ row, prepared }) =>
        prepared.type === 'done' ? prepared.plan : this.#preparer.plan(row, outcomes[sent++] ?? NO_OUTCOME, false, canceled),
      )
      const last = plans.find((plan) => plan.stream.type !== 'go_on')
      return { stream, rows: plans.map((plan) => plan.row), next: nextOf(last?.stream ?? { type: 'go_on' }) }
    })
    const split = outcomes.find((outcome) => outcome.type === 'split')
    if (split !== undefined) this.#reports.split(items.length, split)
    return { results, isSplit: split !== undefined }
  }

  /**
   * Waits until the next attempt may begin. With a rate limit, waits only while the lease leaves time for the attempt.
   * @returns false if no attempt may begin. The row then waits for a later claim.
   */
  async #turn({ stopping, until }: Limits): Promise<boolean> {
    const { gate, clock } = this.#o
    const leftMs = until.leftMs()
    if (stopping.aborted || leftMs < 0) return false
    if (gate.rate === null) return true
    if (!(await withTimeout(clock, leftMs, stopping, (signal) => gate.turn(signal)))) return false
    if (until.leftMs() >= 0) return true
    gate.release()
    return false
  }

  /**
   * Sends one row.
   * @returns the plan for the row; null if nothing may be sent now.
   */
  async #attempt(row: OutboxRow, canceled: AbortSignal): Promise<AttemptPlan | null> {
    const { gate, kind } = this.#o
    const permit = gate.admit()
    if (permit === null) return null
    let outcome: Outcome | null = null
    try {
      const prepared = await this.#preparer.prepare(row, canceled)
      if (prepared.type === 'done') {
        outcome = prepared.outcome
        return prepared.plan
      }
      const startedAt = performance.now()
      const trace = this.#reports.beginTrace()
      const [first = NO_OUTCOME] = await outcomesOf(kind, [prepared.item], canceled)
      outcome = first
      this.#reports.took(startedAt)
      trace([prepared.item], [first])
      return this.#preparer.plan(row, outcome, false, canceled)
    } finally {
      // The outcome of an attempt that this process aborted shows nothing about the target.
      gate.settle(permit, canceled.aborted ? null : outcome)
    }
  }

  /**
   * Prepares each stream's rows, up to the first row that stops the stream. Each lookup waits for the rate limit. If
   * time runs out, or if the target accepts nothing now, the remaining streams aren't prepared.
   */
  async #prepareAll(streams: readonly ClaimedStream[], limits: Limits): Promise<{ prepared: PreparedStream[]; isHalted: boolean }> {
    const batch: PreparedStream[] = []
    let [isLate, isHalted] = [false, false]
    for (const stream of streams) {
      const steps: { row: OutboxRow; prepared: Prepared }[] = []
      for (const row of stream.rows) {
        isLate ||= this.#preparer.looksUp(row) && !(await this.#turn(limits))
        if (isLate || isHalted) break
        const prepared = await this.#preparer.prepare(row, limits.canceled)
        steps.push({ row, prepared })
        isHalted = prepared.type === 'done' && prepared.outcome !== null && isOfTarget(prepared.outcome)
        if (prepared.type === 'done' && prepared.plan.stream.type !== 'go_on') break
      }
      batch.push({ stream, steps })
    }
    return { prepared: batch, isHalted }
  }
}

const NOT_ATTEMPTED: Outcome = { type: 'not_attempted' }

function recordText({ entity, entityId }: OutboxRow): string {
  return `${entity} ${entityId}`
}

/**
 * @returns the row with the record's new id at the target, if there is a new id.
 * @param newIds ids that aren't stored yet, by record.
 */
function withNewId(row: OutboxRow, newIds: ReadonlyMap<string, string>): OutboxRow {
  const remoteId = newIds.get(recordText(row))
  return remoteId === undefined ? row : { ...row, remoteId }
}

function nextOf(step: StreamStep): StreamResult['next'] {
  return step.type === 'go_on' ? { type: 'due', inMs: 0 } : step
}

/**
 * Sends items.
 * @returns one outcome per item. A missing outcome counts as unknown.
 */
async function outcomesOf(kind: DeliveryKind, items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
  try {
    const outcomes = await kind.send(items, signal)
    return items.map((_, position) => outcomes[position] ?? NO_OUTCOME)
  } catch (error) {
    return items.map(() => ({ type: 'unknown', error: messageOf(error) }))
  }
}

/** @returns whether the outcome of a lookup shows that the target accepts nothing now. */
function isOfTarget(outcome: Outcome): boolean {
  const isAway = outcome.type === 'failed' && outcome.alive === false
  return isAway || outcome.type === 'suspend' || requestedPauseMs(outcome) !== null
}

/**
 * @returns the outcome of a batch that describes the target best: a suspension, otherwise a requested pause, otherwise
 * the outcome of the last attempted message. Null if no message was attempted.
 */
function verdictOf(outcomes: readonly Outcome[]): Outcome | null {
  const suspension = outcomes.find((outcome) => outcome.type === 'suspend')
  const pause = outcomes.find((outcome) => requestedPauseMs(outcome) !== null)
  return suspension ?? pause ?? outcomes.findLast((outcome) => outcome.type !== 'not_attempted') ?? null
}
