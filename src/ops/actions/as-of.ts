import { submissions } from '../../model/entities/submissions.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import type { TimeText } from '../../model/time.ts'
import { logStartOf, openSnapshot, type Snapshot, seqAt } from '../../store/as-of/snapshot.ts'
import type { Query } from '../../store/engine/db.ts'
import { NotFoundError } from '../output/refusals.ts'
import { shortTime } from '../output/text.ts'
import { parseMoment } from './arguments.ts'
import type { ActionContext } from './context.ts'
import { untrackedText } from './names.ts'

/** `learned`: what the mirror had stored by then. `happened`: events and messages by their own time, however late they were stored. */
export const asOfClocks = ['learned', 'happened'] as const

type Moment = { readonly at: TimeText; readonly by: (typeof asOfClocks)[number] }

export interface AsOf extends Moment {
  /** The last change that is shown. */
  readonly seq: number
  /** The earliest time that the change log can restore. */
  readonly since: TimeText
}

/** A submission as it was, in a temporary database that must be closed. */
export interface Opened extends Snapshot {
  readonly asOf: AsOf
}

/**
 * Restores a submission as it was.
 * @throws NotFoundError if it is not tracked, was not known yet, or the change log no longer reaches back.
 */
export async function openMoment(q: Query, of: SubmissionRef, { at, by }: Moment): Promise<Opened> {
  const seq = await seqAt(q, at)
  const { rows, close } = await openSnapshot(q, { ...of, seq, happenedBy: by === 'happened' ? at : undefined })
  try {
    const key = [{ account: of.account, submission_id: of.submissionId }]
    // Read afterwards, because a purge or retention may have removed changes during the restoring.
    const [[now], [then], start] = await Promise.all([q.selectMany(submissions, key), rows.selectMany(submissions, key), logStartOf(q, of)])
    if (now === undefined) throw new NotFoundError([untrackedText(of.submissionId, of.account)])
    const tracked = now['tracked_at'] as TimeText
    const since = start.since !== null && start.since > tracked ? start.since : tracked
    if (seq >= start.seq && then !== undefined) return { rows, close, asOf: { at, by, seq, since } }
    const reason = then === undefined ? `did not know submission ${of.submissionId}` : 'no longer has the changes since'
    throw new NotFoundError([`the mirror ${reason} at ${shortTime(at)} UTC. Give a time after ${shortTime(since)} UTC`])
  } catch (error) {
    close()
    throw error
  }
}

/** Reads a submission as it was; see `openMoment`. @param at a time as people write it; undefined: now. */
export async function atMoment<T>(
  { db, clock }: Pick<ActionContext, 'db' | 'clock'>,
  of: SubmissionRef,
  { at: text, by }: Pick<Moment, 'by'> & { readonly at?: string | undefined },
  read: (rows: Query, asOf: AsOf | null) => Promise<T>,
): Promise<T> {
  const at = parseMoment(text, '', clock.now(), [])
  if (at === undefined) return await read(db.read, null)
  const { rows, asOf, close } = await openMoment(db.read, of, { at, by })
  try {
    return await read(rows, asOf)
  } finally {
    close()
  }
}
