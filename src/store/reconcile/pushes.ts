import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'
import { isIn } from '../outbox/queries.ts'
import { openStreams, type StreamKey, streamsOf } from '../outbox/streams.ts'
import { itsStream } from '../schema/push-states.ts'
import type { Columns } from '../schema/tables.ts'
import { reportedBefore } from './findings.ts'

/** A change that isn't delivered after this many ms is reported as undelivered. */
const OVERDUE_MS = 3_600_000

export type UndeliveredState = 'dead' | 'unknown' | 'ready'

export interface Undelivered
  extends Columns<'sync_outbox', 'outbox_id' | 'account' | 'submission_id' | 'entity' | 'entity_id' | 'operation' | 'seq'>,
    Columns<'sync_outbox', 'attempts' | 'queued_at' | 'status' | 'error' | 'stream'> {
  /** Why the stream is blocked; null if it isn't blocked. */
  readonly blocked: string | null
  /** Whether the stream has no row. The change is then not sent until a new change of the stream creates the row. */
  readonly stream_lost: boolean
  /** Whether the change was queued over an hour ago. Always true for dead and unknown changes. */
  readonly overdue: boolean
  /** Whether an earlier run, other than a dry run, reported the change. */
  readonly reported: boolean
}

type Flag = 'overdue' | 'reported' | 'stream_lost'

/**
 * Lists all stored destinations. `behind`: the account's oldest change that was made over an hour ago but isn't queued
 * for the destination. Null if there is no such change, or if the destination isn't configured.
 * @param configured names of configured destinations.
 */
export async function pushDestinations(
  q: Query,
  account: string,
  configured: readonly string[],
): Promise<{ destination: string; state: string; behind: { seq: number; changedAt: TimeText } | null }[]> {
  const rows = await q.sql.selectFrom('sync_destinations').select(['destination', 'state', 'cursor']).orderBy('destination').execute()
  const found: { destination: string; state: string; behind: { seq: number; changedAt: TimeText } | null }[] = []
  for (const { destination, state, cursor } of rows) {
    if (!configured.includes(destination)) {
      found.push({ destination, state, behind: null })
      continue
    }
    const oldest = await q.one(sql<Columns<'changes', 'seq' | 'changed_at'>>`
      select seq, changed_at from changes where seq > ${cursor} and account = ${account} and changed_at < ${dbTime(q, -OVERDUE_MS)}
      order by seq limit 1`)
    found.push({ destination, state, behind: oldest ? { seq: oldest.seq, changedAt: oldest.changed_at } : null })
  }
  return found
}

/**
 * Lists a destination's undelivered changes in one state, for all accounts, in the order of the outbox.
 * @param after the last listed `outbox_id`.
 * @param runId the current run, whose findings don't count as reported.
 */
export async function undeliveredAfter(
  q: Query,
  destination: string,
  state: UndeliveredState,
  after: number,
  limit: number,
  runId: string,
): Promise<Undelivered[]> {
  const rows = await q.all(sql<Omit<Undelivered, Flag> & Record<Flag, number>>`
    select o.outbox_id, o.account, o.submission_id, o.entity, o.entity_id, o.operation, o.seq, o.attempts, o.queued_at, o.status, o.error,
      o.stream, l.blocked, case when o.state = 'ready' and l.stream is null then 1 else 0 end as stream_lost,
      case when o.state <> 'ready' or o.queued_at < ${dbTime(q, -OVERDUE_MS)} then 1 else 0 end as overdue,
      case when exists (select 1 from reconcile_findings f where f.kind = 'undelivered' and f.destination = o.destination and f.seq = o.seq
        and f.account = o.account and f.entity = o.entity and f.entity_id = o.entity_id and ${reportedBefore(q, runId, 'f')}) then 1 else 0 end as reported
    from sync_outbox o
    left join sync_push_streams l on ${sql.raw(itsStream)}
    where o.destination = ${destination} and ${isIn(state)} and o.outbox_id > ${after}
    order by o.outbox_id limit ${sql.lit(limit)}`)
  const is = (flag: number) => flag === 1
  return rows.map((row) => ({ ...row, overdue: is(row.overdue), reported: is(row.reported), stream_lost: is(row.stream_lost) }))
}

/** Creates the missing streams of ready rows, due immediately. */
export async function reopenStreams(db: Db, rows: readonly StreamKey[]): Promise<void> {
  await db.write('reconcile-streams', async (tx) => {
    await openStreams(tx, streamsOf(rows))
    wake(tx, 'outbox')
  })
}

/**
 * @returns whether an earlier run reported a finding about a destination as a whole.
 * @param of `seq`: the change that the finding names; null if the finding names no change.
 */
export async function isDestinationReported(
  q: Query,
  { account, destination, entity, seq }: { account: string; destination: string; entity: string; seq: number | null },
  runId: string,
): Promise<boolean> {
  const row = await q.sql
    .selectFrom('reconcile_findings')
    .select('run_id')
    .where('kind', '=', 'undelivered')
    .where('destination', '=', destination)
    .where('account', '=', account)
    .where('entity', '=', entity)
    .where('submission_id', 'is', null)
    .where('seq', seq === null ? 'is' : '=', seq)
    .where(reportedBefore(q, runId))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
