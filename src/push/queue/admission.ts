import type { NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { type Known, type Passed, type PassedRecord, passedText } from '../../store/outbox/passed.ts'
import type { PresentRow } from '../../store/outbox/present-rows.ts'
import type { JudgedRow } from './judge.ts'

/**
 * Makes the row that sends a complete record.
 * @param isAgain whether the record passed the `filter` before and then stopped passing.
 */
export type WholeOf = (row: NewOutboxRow, present: PresentRow, isAgain: boolean) => NewOutboxRow

/**
 * Decides which rows a destination with a `filter` gets, by the filter's results. If a record starts to pass, the
 * complete record is sent as an insert. If a record stops passing, its change is sent with the mark `leftFilter`. Until
 * the record passes again, only its purge is sent. Stores nothing.
 */
export class Admission {
  /** Rows to queue, in order. */
  readonly rows: NewOutboxRow[] = []
  filtered = 0
  readonly #known: Map<string, Passed>
  readonly #changed: Map<string, PassedRecord & Passed>
  readonly #isPartial: boolean
  readonly #wholeOf: WholeOf

  /** @param known the records' filter states before this `Admission` processes rows. */
  constructor({ passed, unstored, isPartial }: Known, wholeOf: WholeOf) {
    this.#known = new Map(passed)
    this.#changed = new Map(unstored.map((each) => [passedText(each), each]))
    this.#isPartial = isPartial
    this.#wholeOf = wholeOf
  }

  /** Records whose filter state must be stored. */
  get changed(): readonly (PassedRecord & Passed)[] {
    return [...this.#changed.values()]
  }

  /** Processes a change from the log. Call this in log order. */
  takeChange({ row, passes, present, isCurrent }: JudgedRow): void {
    const known = this.#known.get(passedText(row))
    if (row.operation === 'purged' && (known !== undefined || this.#isPartial)) this.#purge(row)
    else if (known?.isIn === true && !passes) this.#leave(row)
    // Changes up to `through` are part of the complete record that was sent, so they aren't queued.
    else if (known?.isIn === true) this.#queueIf(row.seq > known.through, row)
    else if (!passes || present === null) this.filtered += 1
    else if (isCurrent && known === undefined) this.#enter(row, row.seq, row.seq)
    else this.#enter(this.#wholeOf(row, present, known !== undefined), row.seq, present.asOf)
  }

  /**
   * Processes a record that was judged again, because its submission was incomplete when the record was first judged.
   * If the record passes only now, the complete record is sent. `row` is the record's newest change.
   */
  takeAgain({ row, passes, present }: JudgedRow): void {
    const known = this.#known.get(passedText(row))
    if (passes && present !== null && known?.isIn !== true)
      this.#enter(this.#wholeOf(row, present, known !== undefined), row.seq, present.asOf)
  }

  /**
   * Processes a row of a snapshot, which contains the complete record. The record's earlier filter state is ignored.
   */
  takeSnapshotRow({ row, passes }: JudgedRow): void {
    if (passes) this.#enter(row, row.seq, row.seq)
    else this.filtered += 1
  }

  /** Processes a row with a complete record that is sent again after a restore (see restate.ts). */
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

  /** A purge is sent, because the destination may have received the record. */
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
