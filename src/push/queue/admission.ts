import type { NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { type Known, type Passed, type PassedRecord, passedText } from '../../store/outbox/passed.ts'
import type { PresentRow } from '../../store/outbox/present-rows.ts'
import type { JudgedRow } from './judge.ts'

/** Makes the row with which a record goes out whole. @param isAgain it passed before, and ceased to. */
export type WholeOf = (row: NewOutboxRow, present: PresentRow, isAgain: boolean) => NewOutboxRow

/**
 * What a destination with a `filter` is sent of judged rows, so that it has the records that pass: one that begins to pass goes out whole, as
 * an insert; one that ceases to once more, marked; what neither passes nor passed, not at all. It computes and stores nothing.
 */
export class Admission {
  /** What to queue, in order. */
  readonly rows: NewOutboxRow[] = []
  /** How many were left out. */
  filtered = 0
  readonly #known: Map<string, Passed>
  readonly #changed: Map<string, PassedRecord & Passed>
  readonly #isPartial: boolean
  readonly #wholeOf: WholeOf

  /** @param known what is known of the records of the rows before them. */
  constructor({ passed, unstored, isPartial }: Known, wholeOf: WholeOf) {
    this.#known = new Map(passed)
    this.#changed = new Map(unstored.map((each) => [passedText(each), each]))
    this.#isPartial = isPartial
    this.#wholeOf = wholeOf
  }

  /** What is known now of the records of which something else is known now than is stored. */
  get changed(): readonly (PassedRecord & Passed)[] {
    return [...this.#changed.values()]
  }

  /** A change of the log, in its order. */
  takeChange({ row, passes, present, isCurrent }: JudgedRow): void {
    const known = this.#known.get(passedText(row))
    if (row.operation === 'purged' && (known !== undefined || this.#isPartial)) this.#purge(row)
    else if (known?.isIn === true && !passes) this.#leave(row)
    // What the whole row contained is not told again.
    else if (known?.isIn === true) this.#queueIf(row.seq > known.through, row)
    else if (!passes || present === null) this.filtered += 1
    else if (isCurrent && known === undefined) this.#enter(row, row.seq, row.seq)
    else this.#enter(this.#wholeOf(row, present, known !== undefined), row.seq, present.asOf)
  }

  /** The newest change of a record that may not have passed before, judged by what the record is now. */
  takeAgain({ row, passes, present }: JudgedRow): void {
    const known = this.#known.get(passedText(row))
    if (passes && present !== null && known?.isIn !== true)
      this.#enter(this.#wholeOf(row, present, known !== undefined), row.seq, present.asOf)
  }

  /** A row of a snapshot, which contains its record: whatever the destination had of it was for an earlier beginning. */
  takeSnapshotRow({ row, passes }: JudgedRow): void {
    if (passes) this.#enter(row, row.seq, row.seq)
    else this.filtered += 1
  }

  /** A row that is restated, which contains its record. */
  takeRestated({ row, passes }: JudgedRow): void {
    const isIn = this.#known.get(passedText(row))?.isIn === true
    if (passes) this.#enter(isIn ? row : { ...row, operation: 'insert' }, row.seq, row.seq)
    else if (isIn) this.#leave(row)
  }

  #enter(row: NewOutboxRow, seq: number, through: number): void {
    this.rows.push(row)
    this.#note(row, { isIn: true, seq, through })
  }

  #leave(row: NewOutboxRow): void {
    this.rows.push({ ...row, leftFilter: true })
    this.#note(row, { isIn: false, seq: row.seq, through: row.seq })
  }

  /** Whoever was, or may have been, sent anything of a record is told that it was purged. */
  #purge(row: NewOutboxRow): void {
    this.rows.push(row)
    this.#note(row, { isIn: false, seq: row.seq, through: row.seq })
  }

  #queueIf(isNews: boolean, row: NewOutboxRow): void {
    if (isNews) this.rows.push(row)
  }

  #note({ account, entity, entityId }: NewOutboxRow, known: Passed): void {
    const record = { account, entity, entityId }
    this.#known.set(passedText(record), known)
    this.#changed.set(passedText(record), { ...record, ...known })
  }
}
