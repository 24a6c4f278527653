import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'
import type { AlarmSeverity } from '../schema/operators.ts'

export interface EpisodeFilter {
  readonly name?: string | undefined
  readonly account?: string | undefined
  readonly destination?: string | undefined
  readonly severity?: AlarmSeverity | undefined
  readonly since?: TimeText | undefined
  readonly until?: TimeText | undefined
  /** Only episodes with a lower `episode_id`. */
  readonly after?: number | undefined
}

const SAME = sql`a.name = alarm_history.name and a.account = alarm_history.account and a.destination = alarm_history.destination`

/**
 * Updates `alarm_history`. For each firing alarm, adds an open row, or updates text and severity of the alarm's open
 * row. Closes the open rows of alarms that no longer fire.
 */
export async function writeHistory(tx: Tx): Promise<void> {
  const firing = sql`alarms a where ${SAME} and a.state = 'firing'`
  await tx.run(sql`
    update alarm_history set resolved_at = coalesce((select a.resolved_at from alarms a where ${SAME} and a.state = 'resolved'), ${dbTime(tx)})
    where resolved_at is null and not exists (select 1 from ${firing})`)
  await tx.run(sql`
    update alarm_history set text = (select a.text from ${firing}), severity = (select a.severity from ${firing})
    where resolved_at is null and exists (select 1 from ${firing} and (a.text <> alarm_history.text or a.severity <> alarm_history.severity))`)
  await tx.run(sql`
    insert into alarm_history (name, account, destination, severity, since, fired_at, text)
    select name, account, destination, severity, since, last_at, text from alarms a
    where a.state = 'firing' and not exists (select 1 from alarm_history where ${SAME} and resolved_at is null)
    order by since, name, account, destination
    on conflict do nothing`)
}

/** Lists the rows of `alarm_history`, newest first. Each row says when an alarm fired and when it was resolved. */
export async function listEpisodes(q: Query, filter: EpisodeFilter, limit: number) {
  let query = q.sql.selectFrom('alarm_history').selectAll()
  for (const column of ['name', 'account', 'destination', 'severity'] as const) {
    const wanted = filter[column]
    if (wanted !== undefined) query = query.where(column, '=', wanted)
  }
  if (filter.since !== undefined) query = query.where('fired_at', '>=', timeValue(q, filter.since))
  if (filter.until !== undefined) query = query.where('fired_at', '<', timeValue(q, filter.until))
  if (filter.after !== undefined) query = query.where('episode_id', '<', filter.after)
  return await query.orderBy('episode_id', 'desc').limit(limit).execute()
}

/**
 * Acknowledges firing alarms. Acknowledged alarms stay active.
 * @returns the number of newly acknowledged alarms.
 */
export async function acknowledgeAlarms(
  db: Db,
  {
    name,
    account,
    destination,
  }: { readonly name: string; readonly account?: string | undefined; readonly destination?: string | undefined },
  who: string,
): Promise<number> {
  return db.write('alarm-acknowledge', async (tx) => {
    const chosen = sql`name = ${name} and acknowledged_at is null
      ${account === undefined ? sql`` : sql`and account = ${account}`} ${destination === undefined ? sql`` : sql`and destination = ${destination}`}`
    const noted = sql`acknowledged_by = ${who}, acknowledged_at = ${dbTime(tx)}`
    await tx.run(sql`update alarm_history set ${noted} where resolved_at is null and ${chosen}`)
    return await tx.run(sql`update alarms set ${noted} where state = 'firing' and ${chosen}`)
  })
}
