import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { conditionsOf } from './submission-search.ts'

/** Which submissions that wait for a client to list; fields left out do not narrow. */
export interface UnmappedFilter {
  readonly destination: string
  readonly account?: string | undefined
  /** As the list of submissions is searched. */
  readonly search?: string | undefined
  /** Only submissions behind this one. */
  readonly after?: { readonly account: string; readonly submissionId: string } | undefined
}

/** Submissions whose changes wait at a destination until somebody says which client of the AMS they belong to, by account and id. */
export async function listUnmapped(q: Query, { destination, account, search, after }: UnmappedFilter, limit: number) {
  const conditions = [sql`l.destination = ${destination}`, sql`l.blocked = 'unmapped'`]
  if (account !== undefined) conditions.push(sql`l.account = ${account}`)
  if (after !== undefined) conditions.push(sql`(l.account, l.lane) > (${after.account}, ${after.submissionId})`)
  const tests = conditionsOf(q, { search }).map(({ test }) => test)
  const ofLane = sql`o.destination = found.destination and o.account = found.account and o.lane = found.lane and o.state = 'ready'`
  const { rows } = await sql<{
    account: string
    submission_id: string
    insured_name: string | null
    changes: number
    since: TimeText | null
  }>`
    select found.account, found.lane as submission_id, found.insured_name,
      (select count(*) from sync_outbox o where ${ofLane}) as changes,
      (select o.queued_at from sync_outbox o where ${ofLane} order by o.outbox_id limit 1) as since
    from (
      select l.destination, l.account, l.lane, s.insured_name from sync_push_lanes l
      left join submissions s on s.account = l.account and s.submission_id = l.lane
      where ${sql.join([...conditions, ...tests], sql` and `)}
      order by l.account, l.lane limit ${sql.lit(limit)}) as found
    order by found.account, found.lane`.execute(q.sql)
  return rows.map((row) => ({ ...row, changes: Number(row.changes) }))
}
