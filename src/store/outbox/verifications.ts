import { sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query, Tx } from '../engine/db.ts'
import { dbTime, distinctIn, rowLock, timeValue, unindexed, valuesTable } from '../engine/sql.ts'
import type { VerificationResult } from '../schema/push.ts'
import { isKept } from '../schema/push-states.ts'
import type { VerificationSummary } from './destinations.ts'
import type { NewOutboxRow } from './fan-out.ts'
import { amongIds, type OutboxRow } from './rows.ts'

/** Which changes of a destination to ask for; fields left out do not narrow. */
export interface DeliveredSelection {
  readonly submissionId?: string | undefined
  /** Delivered at or after this time. */
  readonly since?: TimeText | undefined
}

/** Rows of the outbox that one look goes through. */
const LOOKED = 5_000

/**
 * Which rows of the outbox stand for a change that counts as delivered to a destination: of a change that was sent again, the newest row.
 * One look through the next rows behind `after` (0 to begin).
 * @returns their numbers, and behind which number to go on; null at the end.
 */
export async function deliveredAfter(
  q: Query,
  destination: string,
  { submissionId, since }: DeliveredSelection,
  after: number,
): Promise<{ readonly ids: readonly number[]; readonly next: number | null }> {
  const ofSubmission =
    submissionId === undefined ? sql`` : sql`and o.account in ${distinctIn('sync_outbox', 'account')} and o.submission_id = ${submissionId}`
  const isYoung = since === undefined ? sql`1 = 1` : sql`o.settled_at >= ${timeValue(q, since)}`
  const { rows } = await sql<{ outbox_id: number; counts: number }>`
    select o.outbox_id,
      case when o.destination = ${destination} and o.state = 'delivered' and ${isYoung} then case when ${IS_NEWEST} then 1 else 0 end else 0 end
        as counts
    from sync_outbox o where o.outbox_id > ${after} ${ofSubmission} order by o.outbox_id limit ${sql.lit(LOOKED)}`.execute(q.sql)
  const ids = rows.filter(({ counts }) => Number(counts) === 1).map(({ outbox_id }) => Number(outbox_id))
  return { ids, next: rows.length < LOOKED ? null : Number(rows.at(-1)?.outbox_id) }
}

/** Whether no younger row `n` stands for the same change, under the same id or, sent again by an operator, under another. */
const IS_NEWEST = sql`
  not exists (select 1 from sync_outbox n where n.message_id = o.message_id and n.destination = o.destination
    and n.outbox_id > o.outbox_id and n.state <> 'skipped')
  and (o.snapshot is not null or not exists (
    select 1 from sync_outbox n where n.account = o.account and n.seq = o.seq and n.state in ('ready', 'delivered', 'dead', 'unknown')
      and n.destination = o.destination and n.entity = o.entity and n.entity_id = o.entity_id and n.snapshot is null
      and n.resent is not null and n.outbox_id > o.outbox_id))`

/**
 * Those of delivered rows of which an answer that the target lacks them tells nothing: their submission was `mapped` anew behind them, and the
 * target is asked for its present client's; or it may have `dropped` the record, because it was told to.
 */
export async function unexpected(q: Query, outboxIds: readonly number[]): Promise<ReadonlyMap<number, 'mapped' | 'dropped'>> {
  if (outboxIds.length === 0) return new Map()
  const { rows } = await sql<{ outbox_id: number; why: 'mapped' | 'dropped' }>`
    select o.outbox_id, case when ${sql.raw(isKept)} then 'mapped' else 'dropped' end as why from sync_outbox o
    left join push_map m on m.destination = o.destination and m.account = o.account and m.submission_id = o.submission_id
    where o.outbox_id in ${amongIds(q, outboxIds)} and (m.mapped_at > o.settled_at or not (${sql.raw(isKept)}))`.execute(q.sql)
  return new Map(rows.map(({ outbox_id: id, why }) => [Number(id), why]))
}

/** A row, and what the target answered about it. */
export interface Verified {
  readonly row: Pick<OutboxRow, 'messageId' | 'account' | 'submissionId' | 'entity' | 'entityId'>
  readonly result: VerificationResult
}

/** Stores what a target answered. When a change was repaired stays, unless the target lacks it again. */
export async function storeVerifications(tx: Tx, destination: string, verified: readonly Verified[]): Promise<void> {
  if (verified.length === 0) return
  const rows = verified.map(
    ({ row, result }): Row => ({
      account: row.account,
      message_id: row.messageId,
      submission_id: row.submissionId,
      entity: row.entity,
      entity_id: row.entityId,
      result,
    }),
  )
  const given = valuesTable(tx, GIVEN, rows)
  await sql`
    insert into sync_push_verifications (destination, account, message_id, submission_id, entity, entity_id, verified_at, result)
    select ${destination}, account, message_id, submission_id, entity, entity_id, ${dbTime(tx)}, result from ${given} where true
    on conflict (destination, account, message_id) do update set
      verified_at = excluded.verified_at, result = excluded.result,
      repaired_at = case when excluded.result = 'lacks' then null else sync_push_verifications.repaired_at end`.execute(tx.sql)
}

const GIVEN = { account: 'text', message_id: 'text', submission_id: 'text', entity: 'text', entity_id: 'text', result: 'text' } as const

/**
 * Whether a newer change of its record still waits. It would go first, without the record's id at the target, which a repair forgets, and be
 * skipped for good. What was queued once more of the same record is older, and rightly goes before the row.
 */
const aNewerWaits = (tx: Tx) => sql`
  exists (select 1 from sync_outbox n where n.destination = o.destination and n.account = o.account and n.lane = o.lane and n.state = 'ready'
    and n.entity = o.entity and n.entity_id = o.entity_id and ${unindexed(tx, 'n.seq')} > o.seq)`

/** A row as it goes out once more, under its id. */
export type Requeued = Omit<NewOutboxRow, 'uncertain'> & { readonly outboxId: number }

/**
 * The rows among these that still count as delivered, to be queued once more, in their order. Whatever is under way, given up or unknown
 * meanwhile is left out, and so is what a newer change of its record waits for, what the target may have dropped because it was told to, and
 * what a purge has emptied.
 */
export async function stillDelivered(tx: Tx, destination: string, outboxIds: readonly number[]): Promise<Requeued[]> {
  if (outboxIds.length === 0) return []
  // Until the transaction ends no purge of their submissions begins.
  await sql`
    select 1 from submissions where (account, submission_id) in (
      select account, submission_id from sync_outbox where outbox_id in ${amongIds(tx, outboxIds)})
    order by account, submission_id ${rowLock(tx, 'for share')}`.execute(tx.sql)
  const { rows } = await sql<
    Omit<Requeued, 'snapshot' | 'resent' | 'leftFilter'> & { readonly content: string | null; readonly left_filter: number | null }
  >`
    select o.outbox_id as "outboxId", o.destination, o.account, o.submission_id as "submissionId", o.entity, o.entity_id as "entityId",
      o.operation, o.cause, o.seq, o.message_id as "messageId", o.snapshot as content, o.left_filter
    from sync_outbox o where o.outbox_id in ${amongIds(tx, outboxIds)} and o.destination = ${destination} and o.state = 'delivered'
      and ${IS_NEWEST} and ${sql.raw(isKept)} and not ${aNewerWaits(tx)} order by o.outbox_id`.execute(tx.sql)
  return rows.map(({ content, left_filter: left, ...row }) => ({
    ...row,
    ...(Number(left) === 1 && { leftFilter: true as const }),
    outboxId: Number(row.outboxId),
    seq: Number(row.seq),
    snapshot: content === null ? null : (JSON.parse(content) as NonNullable<NewOutboxRow['snapshot']>),
    resent: 'same',
  }))
}

/**
 * Notes that changes are queued once more. The target's id of a record whose insert is among them is forgotten: the target has no such
 * record any more, and gives the next one another id.
 */
export async function markRepaired(tx: Tx, destination: string, rows: readonly Requeued[]): Promise<void> {
  for (const { account, messageId, operation, entity, entityId } of rows) {
    await sql`
      update sync_push_verifications set repaired_at = ${dbTime(tx)}
      where destination = ${destination} and account = ${account} and message_id = ${messageId} and result = 'lacks'`.execute(tx.sql)
    if (operation !== 'insert') continue
    await sql`
      delete from sync_remote_ids where destination = ${destination} and account = ${account} and entity = ${entity}
        and entity_id = ${entityId}`.execute(tx.sql)
  }
}

/** Notes the counts of a verification that came to its end. */
export async function noteVerified(tx: Tx, destination: string, summary: VerificationSummary): Promise<void> {
  await tx.sql
    .updateTable('sync_destinations')
    .set({ verified_at: dbTime(tx), verified: JSON.stringify(summary) })
    .where('destination', '=', destination)
    .execute()
}

/** What a target answered since a time, counted. */
export async function foundSince(q: Query, destination: string, since: TimeText): Promise<Record<VerificationResult, number>> {
  const { rows } = await sql<{ result: VerificationResult; n: number }>`
    select result, count(*) as n from sync_push_verifications
    where destination = ${destination} and verified_at >= ${timeValue(q, since)} group by result`.execute(q.sql)
  const count = (result: VerificationResult) => Number(rows.find((row) => row.result === result)?.n ?? 0)
  return { has: count('has'), lacks: count('lacks'), differs: count('differs'), cannot_tell: count('cannot_tell') }
}

/**
 * How many changes a target lacks, by its last answers, that were not sent again since, and that it was not told to drop; and since when that
 * is known.
 */
export async function lackingAt(q: Query, destination: string): Promise<{ readonly count: number; readonly oldestAt: TimeText | null }> {
  const { rows } = await sql<{ count: number; verified_at: TimeText | null }>`
    select count(*) as count, min(v.verified_at) as verified_at from sync_push_verifications v
    where v.destination = ${destination} and v.result = 'lacks' and v.repaired_at is null and not exists (
      select 1 from sync_outbox o where o.message_id = v.message_id and o.destination = v.destination
        and (o.queued_at > v.verified_at or not (${sql.raw(isKept)})))`.execute(q.sql)
  const [row] = rows
  return { count: Number(row?.count ?? 0), oldestAt: row?.verified_at ?? null }
}
