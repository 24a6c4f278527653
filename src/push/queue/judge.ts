import { isDeepStrictEqual } from 'node:util'
import { PermanentError } from '../../base/errors.ts'
import type { Row } from '../../model/entity.ts'
import type { Query } from '../../store/engine/db.ts'
import type { NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { passedText } from '../../store/outbox/passed.ts'
import { type ChangeContent, changeContents, type PresentRow, presentRows, presentSubmissions } from '../../store/outbox/present-rows.ts'
import type { QueuedChange } from '../../store/outbox/rows.ts'
import { directionOf } from '../contract/change-message.ts'
import { type TemplateInput, Templates } from '../http/templates.ts'

/** Input of a `filter`. */
export interface FilterSubject {
  readonly change: QueuedChange
  readonly isSnapshot: boolean
  readonly content: ChangeContent
  /** Current row of the record, and the current row of the record's submission. */
  readonly row: Row
  readonly submission: Row | null
}

export class ContentFilter {
  readonly #templates: Templates

  /** @param expression an expression that passed `checkFilter`. */
  constructor(expression: string) {
    this.#templates = new Templates([{ name: NAME, text: expression }])
  }

  /**
   * @throws PermanentError if the filter fails, takes too long, or yields no boolean.
   * @throws TransientError if the filter can't be evaluated now.
   */
  async passes(subject: FilterSubject): Promise<boolean> {
    const [value = null] = await this.#templates.evaluate([NAME], inputOf(subject))
    if (value !== null && typeof value !== 'boolean') throw new PermanentError(`${NAME} must return true or false`)
    return value === true
  }

  close(): void {
    this.#templates.close()
  }
}

const NAME = 'filter'

/**
 * @returns the `$` of the filter, with the same field names as the `$` of templates. Personal columns are included,
 * because this input is never sent.
 */
function inputOf({ change, isSnapshot, content, row, submission }: FilterSubject): TemplateInput {
  const service = change.entity === 'thread_messages' ? row['direction'] : null
  return {
    account: change.account,
    submission_id: change.submissionId,
    entity: change.entity,
    entity_id: change.entityId,
    operation: change.operation,
    cause: change.cause,
    seq: change.seq,
    snapshot: isSnapshot,
    changed_at: content.changedAt,
    before: content.before,
    after: content.after,
    ...directionOf(typeof service === 'string' ? service : null),
    row,
    submission,
  }
}

/** A row that could be queued, and whether it passes the destination's `filter`. */
export interface JudgedRow {
  readonly row: NewOutboxRow
  readonly passes: boolean
  /**
   * The record's current row when the filter was evaluated. Null if the record isn't in the mirror;
   * `passes` is then false.
   */
  readonly present: PresentRow | null
  /** Whether the row is an insert with the record's current content. */
  readonly isCurrent: boolean
}

/** Judged rows in order, up to the first row on which the filter failed. */
export interface Judgement {
  readonly judged: readonly JudgedRow[]
  readonly failed: { readonly row: NewOutboxRow; readonly problem: string } | null
}

/**
 * Evaluates the filter for rows, outside of a transaction. A record may change after its row was judged. This is
 * harmless, because the newer change is judged later.
 * @throws TransientError if the filter can't be evaluated now.
 */
export async function judgeRows(q: Query, filter: ContentFilter, rows: readonly NewOutboxRow[]): Promise<Judgement> {
  const subjectOf = await readSubjects(q, rows)
  const judged: JudgedRow[] = []
  for (const row of rows) {
    const { present, subject } = subjectOf(row)
    const isCurrent = row.operation === 'insert' && isDeepStrictEqual(subject?.content.after, present?.after)
    try {
      // Evaluates one row at a time. A filter that never ends then costs one timeout, instead of one per row.
      judged.push({ row, present, isCurrent, passes: subject !== null && (await filter.passes(subject)) })
    } catch (error) {
      if (error instanceof PermanentError) return { judged, failed: { row, problem: error.message } }
      throw error
    }
  }
  return { judged, failed: null }
}

async function readSubjects(
  q: Query,
  rows: readonly NewOutboxRow[],
): Promise<(row: NewOutboxRow) => { readonly present: PresentRow | null; readonly subject: FilterSubject | null }> {
  const ofLog = rows.filter(({ snapshot }) => snapshot === null)
  const seqs = ofLog.map(({ seq }) => seq)
  const contents = await changeContents(q, seqs)
  const presents = await presentRows(q, ofLog)
  const keys = rows.map(({ account, submissionId }) => ({ account, submission_id: submissionId }))
  const submissions = await presentSubmissions(q, keys)
  return (row) => {
    // For a snapshot row, uses the complete record that the row contains.
    const { snapshot } = row
    const present = snapshot ? { after: snapshot.after, asOf: row.seq } : (presents.get(passedText(row)) ?? null)
    const ofSnapshot = snapshot && { changedAt: snapshot.changed_at, before: null, after: snapshot.after }
    const content = ofSnapshot ?? contents.get(row.seq) ?? NO_CONTENT
    const submission = submissions.get(`${row.account} ${row.submissionId}`) ?? null
    return { present, subject: present && { change: row, isSnapshot: snapshot !== null, content, row: present.after, submission } }
  }
}

/** Content of a change that was deleted from the log. */
const NO_CONTENT: ChangeContent = { changedAt: '', before: null, after: null }

export function failureText({ row, problem }: NonNullable<Judgement['failed']>): string {
  const what = row.snapshot === null ? `change ${row.seq}, ${row.entity} ${row.operation}` : `the row of ${row.entity} ${row.entityId}`
  return `${what}: ${problem}`
}
