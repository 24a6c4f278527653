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

/** Selects delivered changes to ask the target about. A missing field doesn't restrict the selection. */
export interface DeliveredSelection {
  readonly submissionId?: string | undefined
  readonly since?: TimeText | undefined
}

/** Number of outbox rows that one call of `deliveredAfter` searches. */
const LOOKED = 5_000

/**
 * Finds delivered rows after `after` (0 to begin). If a change was resent, only its newest row is found.
 * @returns `ids`: outbox ids; `next`: value of `after` for the next call, null if no rows remain.
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
  const rows = await q.all(sql<{ outbox_id: number; counts: number }>`
    select o.outbox_id,
      case when o.destination = ${destination} and o.state = 'delivered' and ${isYoung} then case when ${IS_NEWEST} then 1 else 0 end else 0 end
        as counts
    from sync_outbox o where o.outbox_id > ${after} ${ofSubmission} order by o.outbox_id limit ${sql.lit(LOOKED)}`)
  const ids = rows.filter(({ counts }) => counts === 1).map(({ outbox_id }) => outbox_id)
  return { ids, next: rows.length < LOOKED ? null : (rows.at(-1)?.outbox_id ?? null) }
}

/**
 * Condition: row `o` is the newest row of its change. No later row `n` has the same message id, and no later row
 * resends the change with a new id.
 */
const IS_NEWEST = sql`
  not exists (select 1 from sync_outbox n where n.message_id = o.message_id and n.destination = o.destination
    and n.outbox_id > o.outbox_id and n.state <> 'skipped')
  and (o.snapshot is not null or not exists (
    select 1 from sync_outbox n where n.account = o.account and n.seq = o.seq and n.state in ('ready', 'delivered', 'dead', 'unknown')
      and n.destination = o.destination and n.entity = o.entity and n.entity_id = o.entity_id and n.snapshot is null
      and n.resent is not null and n.outbox_id > o.outbox_id))`

/**
 * Finds delivered rows whose record may be missing at the target for a known reason.
 * @returns reasons by outbox id. `mapped`: the submission's mapping was changed after the delivery. `dropped`: the
 * target deleted the record as requested.
 */
export async function unexpected(q: Query, outboxIds: readonly number[]): Promise<ReadonlyMap<number, 'mapped' | 'dropped'>> {
  if (outboxIds.length === 0) return new Map()
  const rows = await q.all(sql<{ outbox_id: number; why: 'mapped' | 'dropped' }>`
    select o.outbox_id, case when ${sql.raw(isKept)} then 'mapped' else 'dropped' end as why from sync_outbox o
    left join push_map m on m.destination = o.destination and m.account = o.account and m.submission_id = o.submission_id
    where o.outbox_id in ${amongIds(q, outboxIds)} and (m.mapped_at > o.settled_at or not (${sql.raw(isKept)}))`)
  return new Map(rows.map(({ outbox_id: id, why }) => [id, why]))
}

/** A delivered row, and what the target answered about it. */
export interface Verified {
  readonly row: Pick<OutboxRow, 'messageId' | 'account' | 'submissionId' | 'entity' | 'entityId'>
  readonly result: VerificationResult
}

/** Stores what a target answered about rows. Keeps `repaired_at`, except if the target now lacks the change again. */
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
  await tx.run(sql`
    insert into sync_push_verifications (destination, account, message_id, submission_id, entity, entity_id, verified_at, result)
    select ${destination}, account, message_id, submission_id, entity, entity_id, ${dbTime(tx)}, result from ${given} where true
    on conflict (destination, account, message_id) do update set
      verified_at = excluded.verified_at, result = excluded.result,
      repaired_at = case when excluded.result = 'lacks' then null else sync_push_verifications.repaired_at end`)
}

const GIVEN = { account: 'text', message_id: 'text', submission_id: 'text', entity: 'text', entity_id: 'text', result: 'text' } as const

/**
 * Condition: a newer change of the same record is ready. Repairing an insert deletes the record's row from
 * `sync_remote_ids`. A newer change that needs the id in this row would then be skipped.
 */
const aNewerWaits = (tx: Tx) => sql`
  exists (select 1 from sync_outbox n where n.destination = o.destination and n.account = o.account and n.stream = o.stream and n.state = 'ready'
    and n.entity = o.entity and n.entity_id = o.entity_id and ${unindexed(tx, 'n.seq')} > o.seq)`

/** A row to send again with the same message id. */
export type Requeued = Omit<NewOutboxRow, 'uncertain'> & { readonly outboxId: number }

/**
 * Finds which of these rows can be queued again, in order. Leaves out a row if its change was resent, or if a newer
 * change of its record is ready. Also leaves out a row whose record the target deleted as requested.
 */
export async function stillDelivered(tx: Tx, destination: string, outboxIds: readonly number[]): Promise<Requeued[]> {
  if (outboxIds.length === 0) return []
  // Prevent purges of the submissions until the transaction ends.
  await tx.run(sql`
    select 1 from submissions where (account, submission_id) in (
      select account, submission_id from sync_outbox where outbox_id in ${amongIds(tx, outboxIds)})
    order by account, submission_id ${rowLock(tx, 'for share')}`)
  const rows = await tx.all(sql<
    Omit<Requeued, 'snapshot' | 'resent' | 'leftFilter'> & { readonly content: string | null; readonly left_filter: number | null }
  >`
    select o.outbox_id as "outboxId", o.destination, o.account, o.submission_id as "submissionId", o.entity, o.entity_id as "entityId",
      o.operation, o.cause, o.seq, o.message_id as "messageId", o.snapshot as content, o.left_filter
    from sync_outbox o where o.outbox_id in ${amongIds(tx, outboxIds)} and o.destination = ${destination} and o.state = 'delivered'
      and ${IS_NEWEST} and ${sql.raw(isKept)} and not ${aNewerWaits(tx)} order by o.outbox_id`)
  return rows.map(({ content, left_filter: left, ...row }) => ({
    ...row,
    ...(left === 1 && { leftFilter: true as const }),
    outboxId: row.outboxId,
    seq: row.seq,
    snapshot: content === null ? null : (JSON.parse(content) as NonNullable<NewOutboxRow['snapshot']>),
    resent: 'same',
  }))
}

/**
 * Stores that these changes were queued again. For an insert, also deletes the record's row from `sync_remote_ids`,
 * because the target will assign a new id.
 */
export async function markRepaired(tx: Tx, destination: string, rows: readonly Requeued[]): Promise<void> {
  for (const { account, messageId, operation, entity, entityId } of rows) {
    await tx.run(sql`
      update sync_push_verifications set repaired_at = ${dbTime(tx)}
      where destination = ${destination} and account = ${account} and message_id = ${messageId} and result = 'lacks'`)
    if (operation !== 'insert') continue
    await tx.run(sql`
      delete from sync_remote_ids where destination = ${destination} and account = ${account} and entity = ${entity}
        and entity_id = ${entityId}`)
  }
}

/**
 * Stores the counts of a verification. Call this only for a verification without a limit to a submission or a period.
 */
export async function storeVerificationSummary(tx: Tx, destination: string, summary: VerificationSummary): Promise<void> {
  await tx.run(sql`
    update sync_destinations set verified_at = ${dbTime(tx)}, verified = ${JSON.stringify(summary)} where destination = ${destination}`)
}

/** Counts the target's answers since a time, by result. */
export async function foundSince(q: Query, destination: string, since: TimeText): Promise<Record<VerificationResult, number>> {
  const rows = await q.all(sql<{ result: VerificationResult; n: number }>`
    select result, count(*) as n from sync_push_verifications
    where destination = ${destination} and verified_at >= ${timeValue(q, since)} group by result`)
  const count = (result: VerificationResult) => rows.find((row) => row.result === result)?.n ?? 0
  return { has: count('has'), lacks: count('lacks'), differs: count('differs'), undetermined: count('undetermined') }
}

/**
 * Counts the changes that the target lacked when last asked. Leaves out changes that were queued again since then, and
 * records that the target deleted as requested.
 * @returns the number of changes, and the time of the oldest counted answer.
 */
export async function lackingAt(q: Query, destination: string): Promise<{ readonly count: number; readonly oldest_at: TimeText | null }> {
  const row = await q.one(sql<{ count: number; oldest_at: TimeText | null }>`
    select count(*) as count, min(v.verified_at) as oldest_at from sync_push_verifications v
    where v.destination = ${destination} and v.result = 'lacks' and v.repaired_at is null and not exists (
      select 1 from sync_outbox o where o.message_id = v.message_id and o.destination = v.destination
        and (o.queued_at > v.verified_at or not (${sql.raw(isKept)})))`)
  return row ?? { count: 0, oldest_at: null }
}
