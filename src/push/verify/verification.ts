import type { Clock } from '../../base/clock.ts'
import type { DestinationConfig } from '../../config/config.ts'
import type { Query, Tx } from '../../store/engine/db.ts'
import { recordText, recordTimes } from '../../store/mirror/record-times.ts'
import type { VerificationSummary } from '../../store/outbox/destinations.ts'
import { lockFanOut, queueRows } from '../../store/outbox/fan-out.ts'
import { deliveredRows } from '../../store/outbox/rows.ts'
import {
  type DeliveredSelection,
  deliveredAfter,
  markRepaired,
  stillDelivered,
  storeVerificationSummary,
  storeVerifications,
  unexpected,
} from '../../store/outbox/verifications.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import { purgedAmong, submissionKeys } from '../../store/reads/purged.ts'
import { type VerificationResult, verificationResults } from '../../store/schema/push.ts'
import type { Presence } from '../contract/delivery.ts'
import { localFailure } from '../contract/outcomes.ts'
import { wants } from '../queue/filter.ts'
import { Asking, type AskingOptions } from './asking.ts'

/**
 * A step checks this many changes per concurrent request, and stores the answers in one transaction. If the process is
 * killed, the answers of the current step are lost, so steps are small.
 */
const STEP = 2
/** Maximum changes that a report lists. Changes with the result `has` aren't listed. */
const LISTED = 1_000

export interface VerificationRequest {
  readonly selection: DeliveredSelection
  /** How many changes to check, chosen at random. Null checks all. */
  readonly sample: number | null
  /** Whether to send missing changes again. */
  readonly repair: boolean
  /**
   * An earlier run to continue. `after`: outbox id of the last row that the run checked. `found`: the results
   * of the run so far.
   */
  readonly continues?: { readonly after: number; readonly found: Readonly<Record<VerificationResult, number>> }
  /**
   * Further writes of the transaction that stores answers. `outboxId`: the last row that the run has finished. At the
   * end of a run that isn't limited to a submission or time, `outboxId` is 0.
   */
  readonly onStored?: (tx: Tx, outboxId: number) => Promise<void>
}

/** A change with a result other than `has`: missing, with other content, or with an unclear answer. */
export interface VerifiedChange {
  readonly row: OutboxRow
  readonly result: Exclude<VerificationResult, 'has'>
  /** Why the answer is unclear; null if the answer is clear. `status` is the HTTP status of the answer. */
  readonly error: string | null
  readonly status: number | null
  /** Whether the change was missing and is queued again. */
  readonly isRepaired: boolean
}

export interface VerificationReport extends VerificationSummary {
  /** The first changes with a result other than `has`. */
  readonly changes: readonly VerifiedChange[]
  /** Whether all changes were checked. */
  readonly isWhole: boolean
}

export interface VerificationOptions extends AskingOptions {
  /** Whether the sender looks up a change with an unknown outcome before sending it again. */
  readonly looksFirst: boolean
}

/**
 * Checks, in the order of sending, whether a target has the changes that it accepted. Stored answers
 * survive an interruption.
 */
export class Verification {
  readonly #o: VerificationOptions
  readonly #request: VerificationRequest
  readonly #asking: Asking
  readonly #counts: Record<VerificationResult, number>
  readonly #changes: VerifiedChange[] = []
  /**
   * By `recordText`: the former id at the target of each record whose insert this run queued again. The sender may
   * create such a record under a new id during the run. Later changes of the record are still checked under the former
   * id.
   */
  readonly #formerIds = new Map<string, string | null>()
  #repaired = 0

  constructor(options: VerificationOptions, request: VerificationRequest) {
    this.#o = options
    this.#request = request
    this.#asking = new Asking(options)
    this.#counts = request.continues ? { ...request.continues.found } : { has: 0, lacks: 0, differs: 0, undetermined: 0 }
  }

  /** @throws the reason of the signal. */
  async run(): Promise<VerificationReport> {
    const { db, clock, destination, signal } = this.#o
    const { selection, sample, continues } = this.#request
    const delivered = await allDelivered(db.read, destination.name, selection, signal)
    const chosen = sample === null ? delivered : sampleOf(delivered, sample, clock)
    const ids = chosen.filter((id) => id > (continues?.after ?? 0))
    let isWhole = true
    const step = STEP * destination.concurrency
    for (let from = 0; from < ids.length && isWhole; from += step) isWhole = await this.#step(ids.slice(from, from + step))
    const asked = verificationResults.reduce((sum, result) => sum + this.#counts[result], 0)
    const summary = { delivered: delivered.length, asked, ...this.#counts, repaired: this.#repaired }
    if (isWhole) await this.#end(summary)
    return { ...summary, changes: this.#changes, isWhole }
  }

  /**
   * Checks the next rows.
   * @returns whether all these rows were checked.
   */
  async #step(ids: readonly number[]): Promise<boolean> {
    const { db, destination, observer } = this.#o
    const wanted = await stillWanted(db.read, destination, await deliveredRows(db.read, ids))
    const rows = wanted.map((row) => this.#asItWasCalled(row))
    const answers = await this.#asking.all(rows)
    const given: Answered[] = []
    for (const [index, row] of rows.entries()) {
      const answer = answers[index] ?? null
      // Stop here. A later run continues with this row.
      if (answer === null) break
      given.push({ row, answer })
    }
    const answered = await asFarAsExpected(db.read, given)
    const isWhole = answered.length === rows.length
    const upTo = isWhole ? ids.at(-1) : answered.at(-1)?.row.outboxId
    const repaired = await this.#store(answered, upTo ?? null)
    for (const { row, answer } of answered) {
      this.#counts[answer.type] += 1
      observer.count('push_verified_total', { destination: destination.name, result: answer.type })
      if (answer.type !== 'has' && this.#changes.length < LISTED)
        this.#changes.push(changeOf(row, answer, answer.type, repaired.has(row.outboxId)))
      if (row.operation === 'insert' && repaired.has(row.outboxId)) this.#formerIds.set(recordOf(row), row.remoteId)
    }
    this.#repaired += repaired.size
    return isWhole
  }

  #asItWasCalled(row: OutboxRow): OutboxRow {
    const formerId = this.#formerIds.get(recordOf(row))
    return formerId === undefined ? row : { ...row, remoteId: formerId }
  }

  /**
   * Stores answers and queues missing changes again, in one transaction.
   * @returns the outbox ids of the rows that are queued again.
   */
  async #store(answered: readonly Answered[], upTo: number | null): Promise<ReadonlySet<number>> {
    const { db, destination, looksFirst } = this.#o
    const { repair, onStored } = this.#request
    const lacking = repair ? await this.#toRepair(answered) : []
    return await db.write('push-verify', async (tx) => {
      if (lacking.length > 0) await lockFanOut(tx)
      const results = answered.map(({ row, answer }) => ({ row, result: answer.type }))
      await storeVerifications(tx, destination.name, results)
      if (upTo !== null) await onStored?.(tx, upTo)
      return lacking.length === 0 ? new Set<number>() : await queueRepairs(tx, destination.name, lacking, looksFirst)
    })
  }

  /**
   * @returns the missing rows to queue again. If duplicates are harmful and the sender can't look up rows, the target
   * is asked a second time. Only rows that are missing both times are then returned.
   */
  async #toRepair(answered: readonly Answered[]): Promise<number[]> {
    const { destination, looksFirst } = this.#o
    const lacking = answered.filter(({ answer }) => answer.type === 'lacks').map(({ row }) => row)
    if (destination.idempotent || looksFirst || lacking.length === 0) return lacking.map(({ outboxId }) => outboxId)
    const again = await this.#asking.all(lacking)
    return lacking.filter((_, index) => again[index]?.type === 'lacks').map(({ outboxId }) => outboxId)
  }

  async #end(summary: VerificationSummary): Promise<void> {
    const { db, destination } = this.#o
    const { selection, onStored } = this.#request
    if (selection.submissionId !== undefined || selection.since !== undefined) return
    await db.write('push-verified', async (tx) => {
      await storeVerificationSummary(tx, destination.name, summary)
      await onStored?.(tx, 0)
    })
  }
}

interface Answered {
  readonly row: OutboxRow
  readonly answer: Presence
}

function recordOf({ account, entity, entityId }: OutboxRow): string {
  return recordText({ account, entity, entity_id: entityId })
}

/**
 * Changes the answer `lacks` to `undetermined` if the target may lack the change for a valid reason, such as a purge.
 */
async function asFarAsExpected(q: Query, answered: readonly Answered[]): Promise<Answered[]> {
  const lacking = answered.flatMap(({ row, answer }) => (answer.type === 'lacks' ? [row.outboxId] : []))
  const reasons = await unexpected(q, lacking)
  return answered.map((one) => {
    const reason = reasons.get(one.row.outboxId)
    return reason === undefined ? one : { ...one, answer: { type: 'undetermined', outcome: localFailure(UNEXPECTED[reason], false) } }
  })
}

const UNEXPECTED = {
  mapped: 'the target lacks the change, and the submission was mapped to another client since',
  dropped: 'the target lacks the change, and a later change marked the record as gone, purged or filtered',
} as const

function changeOf(row: OutboxRow, answer: Presence, result: VerifiedChange['result'], isRepaired: boolean): VerifiedChange {
  const { error, status = null } = answer.type === 'undetermined' ? { status: null, ...answer.outcome } : { error: null }
  return { row, result, error, status, isRepaired }
}

async function allDelivered(q: Query, destination: string, selection: DeliveredSelection, signal: AbortSignal): Promise<number[]> {
  const all: number[] = []
  for (let after: number | null = 0; after !== null; ) {
    signal.throwIfAborted()
    const { ids, next }: Awaited<ReturnType<typeof deliveredAfter>> = await deliveredAfter(q, destination, selection, after)
    for (const id of ids) all.push(id)
    after = next
  }
  return all
}

/** @returns a uniform random sample of `ids`, in ascending order. */
function sampleOf(ids: readonly number[], size: number, clock: Pick<Clock, 'random'>): number[] {
  const left = [...ids]
  const chosen: number[] = []
  while (chosen.length < size && left.length > 0) {
    const place = Math.min(left.length - 1, Math.floor(clock.random() * left.length))
    chosen.push(left[place] as number)
    left[place] = left.at(-1) as number
    left.pop()
  }
  return chosen.sort((a, b) => a - b)
}

/**
 * @returns the rows that pass the destination's current settings. Ignores `max_age`, `backfill`, and `filter`.
 */
async function stillWanted(q: Query, destination: DestinationConfig, rows: readonly OutboxRow[]): Promise<OutboxRow[]> {
  const filters = { ...destination, maxAgeMs: null, backfill: true }
  const typeOf = await typesOf(q, destination, rows)
  return rows.filter(({ outboxId, account, entity, operation, cause, snapshot }) => {
    const eventType = typeOf.get(outboxId) ?? null
    return wants(filters, { account, entity, operation, cause, snapshot, eventType, occurredAt: null }, 0)
  })
}

/** @returns types of market events, by `outboxId`. Empty if the destination has no `event_types`. */
async function typesOf(
  q: Query,
  { eventTypes }: Pick<DestinationConfig, 'eventTypes'>,
  rows: readonly OutboxRow[],
): Promise<ReadonlyMap<number, string | null>> {
  if (eventTypes === null) return new Map()
  const events = rows
    .filter(({ entity }) => entity === 'market_events')
    .map(({ outboxId, account, entity, entityId }) => ({ outboxId, account, entity, entity_id: entityId }))
  const times = await recordTimes(q, events)
  return new Map(events.map((event) => [event.outboxId, times.get(recordText(event))?.type ?? null]))
}

/**
 * Queues missing rows again, with the same ids, behind the rows that are already waiting. The transaction must have
 * locked the fan-out. These rows aren't queued:
 * - a row whose change was resent
 * - a row with a newer waiting change of the same record
 * - a row whose record the target deleted as requested
 * - a row of a purged submission
 * @param looksFirst whether the sender looks up each row before sending it.
 * @returns the outbox ids of the rows that are queued again.
 */
async function queueRepairs(tx: Tx, destination: string, outboxIds: readonly number[], looksFirst: boolean): Promise<ReadonlySet<number>> {
  const found = await stillDelivered(tx, destination, outboxIds)
  const purged = await purgedAmong(tx, submissionKeys(found))
  const rows = found.filter(({ account, submissionId }) => !purged.has(`${account} ${submissionId}`))
  await markRepaired(tx, destination, rows)
  const queued = rows.map(({ outboxId: _, ...row }) => ({ ...row, uncertain: looksFirst }))
  await queueRows(tx, queued, [])
  return new Set(rows.map(({ outboxId }) => outboxId))
}
