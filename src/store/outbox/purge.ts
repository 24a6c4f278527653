import { sql } from 'kysely'
import type { SubmissionRef } from '../../model/observations.ts'
import type { Db, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { dbTime } from '../engine/sql.ts'
import { FAN_OUT } from './fan-out.ts'
import { closeEmptyStreams, type LockedStream, lockStreams, type StreamKey, streamsOf, streamText } from './streams.ts'

/** Rows deleted per transaction. A larger number would make a running `serve` wait longer. */
const STEP = 100

interface Victim extends StreamKey {
  readonly outbox_id: number
}

/**
 * What remains after one step. `more`: rows may remain, so call again. `inFlight`: senders have claimed all rows that
 * the step found, and may be sending them. Wait, then call again. `none`: no rows remain.
 */
type Left = 'more' | 'inFlight' | 'none'

/**
 * Deletes up to 100 outbox rows of a submission, but keeps rows with the operation `purged`. Also deletes streams that
 * become empty, and unblocks streams that a deleted row blocked. If a stream is claimed, its rows are kept until the
 * lease ends, because the sender already has their content.
 */
export function purgePushes(db: Db, { account, submissionId }: SubmissionRef): Promise<Left> {
  return db.write('purge', async (tx) => {
    // Wait for a fan-out that began before the submission was marked as purged. Otherwise this transaction wouldn't see
    // the rows that the fan-out inserts.
    await lockNamed(tx, FAN_OUT)
    const victims = tx.sql
      .selectFrom('sync_outbox')
      .select(['outbox_id', 'destination', 'account', 'stream'])
      .where('account', '=', account)
    const found: Victim[] = await victims.where('submission_id', '=', submissionId).where('operation', '<>', 'purged').limit(STEP).execute()
    if (found.length === 0) return 'none'
    const locked = await lockStreams(tx, streamsOf(found))
    const claimed = new Set(locked.filter(({ in_flight }) => in_flight === 1).map(streamText))
    const rows = found.filter((row) => !claimed.has(streamText(row)))
    if (rows.length === 0) return 'inFlight'
    const ids = rows.map(({ outbox_id }) => outbox_id)
    await tx.sql.deleteFrom('sync_outbox').where('outbox_id', 'in', ids).execute()
    const free = locked.filter((stream) => !claimed.has(streamText(stream)))
    for (const stream of free) if (stream.held_by !== null && ids.includes(stream.held_by)) await unblock(tx, stream)
    await closeEmptyStreams(tx, free)
    return 'more'
  })
}

async function unblock(tx: Tx, { destination, account, stream }: LockedStream): Promise<void> {
  await tx.run(sql`
    update sync_push_streams set blocked = null, held_by = null, due_at = ${dbTime(tx)}
    where destination = ${destination} and account = ${account} and stream = ${stream}`)
}
