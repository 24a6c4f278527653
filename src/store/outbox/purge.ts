import { sql } from 'kysely'
import type { Place } from '../../model/facts.ts'
import type { Db, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { closeEmptyLanes, type LaneKey, type LockedLane, lanesOf, lockLanes } from './lanes.ts'

/** Rows deleted in one transaction: few enough that a running `serve` does not wait (invariant 13). */
const STEP = 100

interface Victim extends LaneKey {
  readonly outbox_id: number
}

/**
 * Removes the next queued and sent pushes of a submission, but those that tell of its purge, and the lanes that are empty then. A lane that one
 * of them held goes on.
 * @returns how many; 0 at the end.
 */
export function purgePushes(db: Db, { account, submissionId }: Place): Promise<number> {
  return db.write('purge', async (tx) => {
    const victims = tx.sql.selectFrom('sync_outbox').select(['outbox_id', 'destination', 'account', 'lane']).where('account', '=', account)
    const rows: Victim[] = await victims.where('submission_id', '=', submissionId).where('operation', '<>', 'purged').limit(STEP).execute()
    if (rows.length === 0) return 0
    const ids = rows.map(({ outbox_id }) => outbox_id)
    const locked = await lockLanes(tx, lanesOf(rows))
    await tx.sql.deleteFrom('sync_outbox').where('outbox_id', 'in', ids).execute()
    for (const lane of locked) if (lane.held_by !== null && ids.includes(lane.held_by)) await letGo(tx, lane)
    await closeEmptyLanes(tx, locked)
    return rows.length
  })
}

async function letGo(tx: Tx, { destination, account, lane }: LockedLane): Promise<void> {
  await sql`
    update sync_push_lanes set blocked = null, held_by = null, due_at = ${dbTime(tx)}
    where destination = ${destination} and account = ${account} and lane = ${lane}`.execute(tx.sql)
}
