import { isDeepStrictEqual } from 'node:util'
import { PermanentError } from '../../base/errors.ts'
import type { Query } from '../../store/engine/db.ts'
import type { NewOutboxRow } from '../../store/outbox/fan-out.ts'
import { passedText } from '../../store/outbox/passed.ts'
import { type ChangeContent, changeContents, type PresentRow, presentRows, presentSubmissions } from '../../store/outbox/present-rows.ts'
import type { ContentFilter, FilterSubject } from './content-filter.ts'

/** A row that could be queued, and whether it passes the `filter` of its destination. */
export interface JudgedRow {
  readonly row: NewOutboxRow
  readonly passes: boolean
  /** Its record as it was judged; null when it is not in the mirror. Then it does not pass. */
  readonly present: PresentRow | null
  /** Whether it is an insert that says what the record still is. */
  readonly isCurrent: boolean
}

/** Rows in their order, up to the first one on which the filter failed. */
export interface Judgement {
  readonly judged: readonly JudgedRow[]
  readonly failed: { readonly row: NewOutboxRow; readonly problem: string } | null
}

/**
 * Judges rows by content, outside of any transaction. A verdict on an older row of the mirror does no harm: whatever changed it since has a
 * change of its own, which is judged after it.
 * @throws TransientError when nothing can be evaluated now.
 */
export async function judgeRows(q: Query, filter: ContentFilter, rows: readonly NewOutboxRow[]): Promise<Judgement> {
  const subjectOf = await readSubjects(q, rows)
  const judged: JudgedRow[] = []
  for (const row of rows) {
    const { present, subject } = subjectOf(row)
    const isCurrent = row.operation === 'insert' && isDeepStrictEqual(subject?.content.after, present?.after)
    try {
      // One after the other, so that a filter that never ends costs the time of one.
      judged.push({ row, present, isCurrent, passes: subject !== null && (await filter.passes(subject)) })
    } catch (error) {
      if (error instanceof PermanentError) return { judged, failed: { row, problem: error.message } }
      throw error
    }
  }
  return { judged, failed: null }
}

type Read = { readonly present: PresentRow | null; readonly subject: FilterSubject | null }

/** Reads what the filter sees of rows. */
async function readSubjects(q: Query, rows: readonly NewOutboxRow[]): Promise<(row: NewOutboxRow) => Read> {
  const ofLog = rows.filter(({ snapshot }) => snapshot === null)
  const contents = await changeContents(
    q,
    ofLog.map(({ seq }) => seq),
  )
  const presents = await presentRows(q, ofLog)
  const submissions = await presentSubmissions(
    q,
    rows.map(({ account, submissionId }) => ({ account, submission_id: submissionId })),
  )
  return (row) => {
    const present = presentOf(row) ?? presents.get(passedText(row)) ?? null
    const content = contentOf(row) ?? contents.get(row.seq) ?? NO_CONTENT
    const submission = submissions.get(`${row.account} ${row.submissionId}`) ?? null
    return { present, subject: present && { change: row, isSnapshot: row.snapshot !== null, content, row: present.after, submission } }
  }
}

/** Somebody has deleted the change. */
const NO_CONTENT: ChangeContent = { changedAt: '', before: null, after: null }

/** A row of a snapshot contains its record. */
function presentOf({ snapshot, seq }: NewOutboxRow): PresentRow | null {
  return snapshot === null ? null : { after: snapshot.after, asOf: seq }
}

function contentOf({ snapshot }: NewOutboxRow): ChangeContent | null {
  return snapshot && { changedAt: snapshot.changed_at, before: null, after: snapshot.after }
}

/** Which row the filter fails on, and why, as an operator reads it. */
export function failureText({ row, problem }: NonNullable<Judgement['failed']>): string {
  const what = row.snapshot === null ? `change ${row.seq}, ${row.entity} ${row.operation}` : `the row of ${row.entity} ${row.entityId}`
  return `${what}: ${problem}`
}
