import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { databaseNowMs } from '../engine/sql.ts'
import { lastUpkeep } from './upkeep.ts'

/**
 * Reads the times of the newest delivery, the newest change, and the last retention run, to check clocks against. The
 * newest row is the row with the highest number. A wrong time is therefore used only until the next row is stored.
 * `nowMs`: the database's clock in epoch ms; null on SQLite.
 */
export async function readClocks(q: Query) {
  const received = await q.sql.selectFrom('sync_inbox').select('received_at as at').orderBy('inbox_id', 'desc').limit(1).executeTakeFirst()
  const changed = await q.sql.selectFrom('changes').select('changed_at as at').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  const retention = await lastUpkeep(q, 'retention')
  const times: [string, TimeText | null | undefined][] = [
    ['the newest delivery', received?.at],
    ['the newest change', changed?.at],
    ['the last run of retention', retention?.ended_at],
  ]
  const recorded = times.flatMap(([what, at]) => (at == null ? [] : [{ what, atMs: msFromTime(at) }]))
  return { nowMs: q.kind === 'sqlite' ? null : await databaseNowMs(q), recorded }
}
