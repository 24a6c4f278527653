import { submissions } from '../../model/entities/submissions.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import type { TimeText } from '../../model/time.ts'
import { logStartOf, readSnapshot, seqAt } from '../../store/as-of/snapshot.ts'
import type { Query } from '../../store/engine/db.ts'
import { NotFoundError } from '../output/refusals.ts'
import { shortTime } from '../output/text.ts'
import { parseMoment } from './arguments.ts'
import type { ActionContext } from './context.ts'
import { untrackedText } from './names.ts'

/**
 * How a submission at an earlier time is shown. `learned`: only what the mirror had stored at that time.
 * `happened`: also events and messages that had happened at that time, but were stored later.
 */
export const asOfClocks = ['learned', 'happened'] as const

type Moment = { readonly at: TimeText; readonly by: (typeof asOfClocks)[number] }

export interface AsOf extends Moment {
  /** Number of the newest change that is shown. */
  readonly seq: number
  /** The earliest time that the change log can restore. */
  readonly since: TimeText
}

type Read<T, A> = (rows: Query, asOf: A) => Promise<T>

/**
 * Restores a submission as it was at `at`, and calls `read` with the restored rows.
 * @throws NotFoundError if the submission is not tracked or was not known at `at`, or if the change log no longer
 * has all changes since `at`.
 */
export async function readMoment<T>(q: Query, of: SubmissionRef, { at, by }: Moment, read: Read<T, AsOf>): Promise<T> {
  const seq = await seqAt(q, at)
  return await readSnapshot(q, { ...of, seq, happenedBy: by === 'happened' ? at : undefined }, async (rows) => {
    const key = [{ account: of.account, submission_id: of.submissionId }]
    // Read the start of the log only now. A purge or retention may have removed changes while the rows were restored.
    const [[now], [then], start] = await Promise.all([q.selectMany(submissions, key), rows.selectMany(submissions, key), logStartOf(q, of)])
    if (now === undefined) throw new NotFoundError([untrackedText(of.submissionId, of.account)])
    const tracked = now['tracked_at'] as TimeText
    const since = start.since !== null && start.since > tracked ? start.since : tracked
    if (seq >= start.seq && then !== undefined) return await read(rows, { at, by, seq, since })
    const reason = then === undefined ? `did not know submission ${of.submissionId} at` : 'no longer has all changes since'
    throw new NotFoundError([`the mirror ${reason} ${shortTime(at)} UTC. Give a time after ${shortTime(since)} UTC`])
  })
}

/** Reads a submission as it was at `at`; see `readMoment`. @param at text for `parseMoment`; undefined means now. */
export async function atMoment<T>(
  { db, clock }: Pick<ActionContext, 'db' | 'clock'>,
  of: SubmissionRef,
  { at: text, by }: Pick<Moment, 'by'> & { readonly at?: string | undefined },
  read: Read<T, AsOf | null>,
): Promise<T> {
  const at = parseMoment(text, '', clock.now(), [])
  return at === undefined ? await read(db.read, null) : await readMoment(db.read, of, { at, by }, read)
}
