import type { Clock } from '../../base/clock.ts'
import type { Query, Tx } from '../../store/engine/db.ts'
import { recordText } from '../../store/mirror/record-times.ts'
import type { VerificationSummary } from '../../store/outbox/destinations.ts'
import { lockFanOut } from '../../store/outbox/fan-out.ts'
import { deliveredRows } from '../../store/outbox/rows.ts'
import { type DeliveredSelection, deliveredAfter, noteVerified, storeVerifications, unexpected } from '../../store/outbox/verifications.ts'
import type { OutboxRow } from '../../store/outbox/work.ts'
import { type VerificationResult, verificationResults } from '../../store/schema/push.ts'
import type { Presence } from '../contract/delivery.ts'
import { localFailure } from '../contract/outcomes.ts'
import { Asking, type AskingOptions } from './asking.ts'
import { queueRepairs } from './repair.ts'
import { stillWanted } from './wanted.ts'

/** Changes of each place in flight whose answers are stored in one transaction: few, so that a slow target loses no more when it is killed. */
const STEP = 2
/** Changes without a `has` that a report lists; it counts them all. */
const LISTED = 1_000

/** What to verify. */
export interface VerificationRequest {
  readonly selection: DeliveredSelection
  /** So many of them, chosen by chance; null: all. */
  readonly sample: number | null
  /** Sends what lacks once more. */
  readonly repair: boolean
  /** An earlier run that this one continues: the number of the row that it came to, and what it found so far. */
  readonly continues?: { readonly after: number; readonly found: Readonly<Record<VerificationResult, number>> }
  /** Further writes of the transaction that stores the answers up to a row, with its number; 0 at the end. */
  readonly onStored?: (tx: Tx, outboxId: number) => Promise<void>
}

/** A change that the target does not have as it was sent, or of which it does not tell. */
export interface VerifiedChange {
  readonly row: OutboxRow
  readonly result: Exclude<VerificationResult, 'has'>
  /** Why it cannot be told, and the status of the answer; null where it can. */
  readonly error: string | null
  readonly status: number | null
  /** It lacked, and is queued once more. */
  readonly isRepaired: boolean
}

export interface VerificationReport extends VerificationSummary {
  /** The first of the changes that the target does not certainly have. */
  readonly changes: readonly VerifiedChange[]
  /** Whether the target could be asked to the end. */
  readonly isWhole: boolean
}

export interface VerificationOptions extends AskingOptions {
  /** Whether the sender looks for a change of unknown outcome before it sends it. */
  readonly looksFirst: boolean
}

/** Asks a target for what it took, in the order in which it was sent. What was asked stays stored, wherever it is interrupted. */
export class Verification {
  readonly #o: VerificationOptions
  readonly #request: VerificationRequest
  readonly #asking: Asking
  readonly #counts: Record<VerificationResult, number>
  readonly #changes: VerifiedChange[] = []
  /**
   * What the target called records whose inserts are queued once more, by `recordText`. It may have made them anew meanwhile, as they were at
   * first: that it has them under their new ids does not tell that it has their later changes.
   */
  readonly #formerIds = new Map<string, string | null>()
  #repaired = 0

  constructor(options: VerificationOptions, request: VerificationRequest) {
    this.#o = options
    this.#request = request
    this.#asking = new Asking(options)
    this.#counts = request.continues ? { ...request.continues.found } : { has: 0, lacks: 0, differs: 0, cannot_tell: 0 }
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

  /** @returns whether the target could be asked for all of them. */
  async #step(ids: readonly number[]): Promise<boolean> {
    const { db, destination, observer } = this.#o
    const wanted = await stillWanted(db.read, destination, await deliveredRows(db.read, ids))
    const rows = wanted.map((row) => this.#asItWasCalled(row))
    const answers = await this.#asking.all(rows)
    const given: Told[] = []
    for (const [index, row] of rows.entries()) {
      const answer = answers[index] ?? null
      // Those behind it are asked for again by a run that continues this one.
      if (answer === null) break
      given.push({ row, answer })
    }
    const told = await asFarAsExpected(db.read, given)
    const isWhole = told.length === rows.length
    const upTo = isWhole ? ids.at(-1) : told.at(-1)?.row.outboxId
    const repaired = await this.#store(told, upTo ?? null)
    for (const { row, answer } of told) {
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

  /** Stores answers, and queues what lacks, in one transaction. @returns the numbers of the rows that are queued once more. */
  async #store(told: readonly Told[], upTo: number | null): Promise<ReadonlySet<number>> {
    const { db, destination, looksFirst } = this.#o
    const { repair, onStored } = this.#request
    const lacking = repair ? await this.#toRepair(told) : []
    return await db.write('push-verify', async (tx) => {
      if (lacking.length > 0) await lockFanOut(tx)
      await storeVerifications(
        tx,
        destination.name,
        told.map(({ row, answer }) => ({ row, result: answer.type })),
      )
      if (upTo !== null) await onStored?.(tx, upTo)
      return lacking.length === 0 ? new Set<number>() : await queueRepairs(tx, destination.name, lacking, looksFirst)
    })
  }

  /** The rows that lack. Where it must not get them twice, and the sender cannot look for them either, they are looked for once more. */
  async #toRepair(told: readonly Told[]): Promise<number[]> {
    const { destination, looksFirst } = this.#o
    const lacking = told.filter(({ answer }) => answer.type === 'lacks').map(({ row }) => row)
    if (destination.idempotent || looksFirst || lacking.length === 0) return lacking.map(({ outboxId }) => outboxId)
    const again = await this.#asking.all(lacking)
    return lacking.filter((_, index) => again[index]?.type === 'lacks').map(({ outboxId }) => outboxId)
  }

  async #end(summary: VerificationSummary): Promise<void> {
    const { db, destination } = this.#o
    const { selection, onStored } = this.#request
    const isNarrow = selection.submissionId !== undefined || selection.since !== undefined
    if (isNarrow) return
    await db.write('push-verified', async (tx) => {
      await noteVerified(tx, destination.name, summary)
      await onStored?.(tx, 0)
    })
  }
}

interface Told {
  readonly row: OutboxRow
  readonly answer: Presence
}

function recordOf({ account, entity, entityId }: OutboxRow): string {
  return recordText({ account, entity, entity_id: entityId })
}

/** What lacks may have gone elsewhere, or be dropped rightly: that does not tell whether a delivery was lost. */
async function asFarAsExpected(q: Query, told: readonly Told[]): Promise<Told[]> {
  const lacking = told.filter(({ answer }) => answer.type === 'lacks')
  const reasons = await unexpected(
    q,
    lacking.map(({ row }) => row.outboxId),
  )
  return told.map((one) => {
    const reason = reasons.get(one.row.outboxId)
    return reason === undefined ? one : { ...one, answer: { type: 'cannot_tell', outcome: localFailure(UNEXPECTED[reason], false) } }
  })
}

const UNEXPECTED = {
  mapped: 'it lacks it, and its submission was mapped anew since',
  dropped: 'it lacks it, and was told that the record is gone, purged or out of the filter',
} as const

function changeOf(row: OutboxRow, answer: Presence, result: VerifiedChange['result'], isRepaired: boolean): VerifiedChange {
  const { error, status = null } = answer.type === 'cannot_tell' ? { status: null, ...answer.outcome } : { error: null }
  return { row, result, error, status, isRepaired }
}

/** The numbers of all rows of a selection. */
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

/** So many of them, each as likely as any other, in their order. */
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
