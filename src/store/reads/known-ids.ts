import { type RawBuilder, sql } from 'kysely'
import { submissionIn } from '../../model/facts.ts'
import { storableText } from '../../model/json.ts'
import type { KnownId, KnownKind } from '../../model/known-ids.ts'
import { type IdRead, idReads, type ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, greatest, valuesTable } from '../engine/sql.ts'
import { hashColumns, isOfSubmission } from './content-hashes.ts'
import { DETAIL_WAKE_DELAY_MS, type Wake } from './reads.ts'

/*
 * What has an id of its own (a bind request, a policy, an insured) is read once for each id that is known. Each id has a row with its due
 * time, as each read of a submission has one in `sync_reads`. Documents are only noted.
 */

/** An id with the account that it is known in, and what named it. */
export interface NewKnownId extends KnownId {
  readonly account: string
  readonly via: string
}

/** Adds unknown ids, due at once, the submission of one that had none, and the one that its own object names. Known ids cost no write. */
export async function learnIds(tx: Tx, given: readonly NewKnownId[]): Promise<void> {
  if (given.length === 0) return
  const rows = [...given].sort((a, b) => (keyText(a) < keyText(b) ? -1 : 1)).map(rowOf)
  const columns = { account: 'text', kind: 'text', id: 'text', submission_id: 'text', via: 'text', is_stated: 'int' } as const
  const known = await sql<{ account: string; kind: KnownKind; id: string; submission_id: string | null }>`
    select k.account, k.kind, k.id, k.submission_id from ${valuesTable(tx, columns, rows)}
    join sync_known_ids k on k.account = given.account and k.kind = given.kind and k.id = given.id`.execute(tx.sql)
  const submissionOf = new Map(known.rows.map((row) => [`${row.account} ${row.kind} ${row.id}`, row.submission_id]))
  const fresh = rows.filter((row) => {
    const stored = submissionOf.get(`${row.account} ${row.kind} ${row.id}`)
    return stored === undefined || (row.submission_id !== null && stored !== row.submission_id && (stored === null || row.is_stated === 1))
  })
  if (fresh.length === 0) return
  const now = dbTime(tx)
  // A bind request is below its submission, and a document is no read of this kind.
  const due = sql`case when given.kind in (${sql.join(idReads)}) and (given.kind <> 'bind_request' or given.submission_id is not null) then ${now} end`
  for (const isStated of [0, 1]) {
    const some = fresh.filter(({ is_stated }) => is_stated === isStated)
    if (some.length === 0) continue
    await sql`
      insert into sync_known_ids (account, kind, id, submission_id, via, first_seen_at, due_at, wake_no, issued_no, applied_no, failures, not_found, is_final)
      select given.account, given.kind, given.id, given.submission_id, given.via, ${now}, ${due}, 0, 0, 0, 0, 0, 0
      from ${valuesTable(tx, columns, some)}
      where not exists (select 1 from sync_purged p where p.account = given.account and p.submission_id = given.submission_id)
      on conflict (account, kind, id) do update set submission_id = excluded.submission_id,
        due_at = case when sync_known_ids.lease_token is null then excluded.due_at else sync_known_ids.due_at end,
        wake_no = sync_known_ids.wake_no + 1, failures = 0, not_found = 0
      where excluded.submission_id is not null and (sync_known_ids.submission_id is null or ${sql.lit(isStated)} = 1)`.execute(tx.sql)
  }
  wake(tx, 'reads')
}

/** Makes the bind requests of woken submissions due soon, and policies that were not found yet: they appear with the bind (trap 79). */
export async function wakeIdsOf(tx: Tx, wakes: readonly Wake[], delayMs = DETAIL_WAKE_DELAY_MS): Promise<void> {
  const keys = new Map(wakes.filter(({ read }) => read === 'requirements').map((one) => [`${one.account} ${one.submissionId}`, one]))
  if (keys.size === 0) return
  const rows = [...keys]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { account, submissionId }]) => ({ account, submission_id: submissionId }))
  const soon = dbTime(tx, delayMs)
  await sql`
    update sync_known_ids set wake_no = wake_no + 1,
      due_at = case when lease_token is null and failures = 0 and due_at > ${soon} then ${soon} else due_at end
    from ${valuesTable(tx, { account: 'text', submission_id: 'text' }, rows)}
    where sync_known_ids.account = given.account and sync_known_ids.submission_id = given.submission_id
      and (kind = 'bind_request' or (kind in ('policy', 'insured') and last_read_at is null))`.execute(tx.sql)
}

/** Makes all ids of submissions due now. */
export async function requestIdsOf(tx: Tx, account: string, submissionIds: readonly string[]): Promise<void> {
  await sql`
    update sync_known_ids set wake_no = wake_no + 1,
      due_at = case when lease_token is null and failures = 0 then ${dbTime(tx)} else due_at end
    where account = ${account} and submission_id in (${sql.join(submissionIds)}) and due_at is not null`.execute(tx.sql)
}

/** An id that this process may read until its lease ends. */
export interface IdClaim extends KnownId {
  readonly kind: IdRead
  readonly account: string
  readonly leaseToken: string
  /** The number of this read. Later reads have greater ones (invariant 6). */
  readonly readNo: number
  readonly wakeNo: number
  readonly failures: number
  readonly notFound: number
  /** Whether it was ever read. */
  readonly wasRead: boolean
  /** Whether nothing is expected of it any more. */
  readonly isFinal: boolean
  /** When the answer last changed; before that, when the id was first seen. */
  readonly changedAt: TimeText
}

export const claimedIds = new Leased<IdClaim>({
  table: 'sync_known_ids',
  what: 'read of',
  key: { account: 'account', kind: 'kind', id: 'id' },
  topic: 'reads',
})

/** Whether an id is due. Saves a write transaction that would claim nothing. */
export async function isIdDue(q: Query, account: string, without: readonly ReadKind[]): Promise<boolean> {
  const { rows } = await sql`
    select 1 from sync_known_ids where account = ${account} and due_at <= ${dbTime(q)} ${notOf(without)} limit 1`.execute(q.sql)
  return rows.length > 0
}

/** Which ids to claim. */
export interface IdQuery {
  readonly account: string
  readonly limit: number
  readonly leaseMs: number
  /** Only this one, due or not, unless another process reads it. */
  readonly only?: { readonly kind: IdRead; readonly id: string }
  /** None of these kinds. */
  readonly without?: readonly ReadKind[]
}

/** Claims ids, the longest due first. */
export async function claimIds(db: Db, { account, limit, leaseMs, only, without = [] }: IdQuery): Promise<IdClaim[]> {
  const leaseToken = newLeaseToken(db)
  return db.write('read-claim', async (tx) => {
    const isOnly = only === undefined ? sql`` : sql`and kind = ${only.kind} and id = ${only.id} and due_at is not null`
    const where = sql`account = ${account} ${isOnly} ${notOf(without)}`
    const selection = claimedIds.select(tx, { where, limit, evenIfNotDue: only !== undefined })
    const claims = await claimedIds.claim(tx, leaseToken, selection, {
      leaseMs,
      set: sql`issued_no = ${nextNumber(tx)}`,
      returning: {
        submissionId: sql`coalesce(submission_id, '')`,
        readNo: 'issued_no',
        wakeNo: 'wake_no',
        failures: 'failures',
        notFound: 'not_found',
        isFinal: 'is_final',
        wasRead: sql`last_read_at is not null`,
        changedAt: sql`coalesce(last_changed_at, first_seen_at)`,
      },
    })
    return claims.map((claim) => ({ ...claim, wasRead: Boolean(claim.wasRead), isFinal: Boolean(claim.isFinal) }))
  })
}

/** The ids that are read and were named for submissions; `''`: for none. */
export async function listIdsOf(
  q: Query,
  account: string,
  submissionIds: readonly string[],
): Promise<{ kind: IdRead; id: string; submissionId: string }[]> {
  const { rows } = await sql<{ kind: IdRead; id: string; submissionId: string }>`
    select kind, id, coalesce(submission_id, '') as "submissionId" from sync_known_ids
    where account = ${account} and ${isOfSubmission(submissionIds)} and due_at is not null order by kind, id`.execute(q.sql)
  return rows
}

/** Why the last read of an id failed; null when it did not. */
export async function idError(q: Query, { account, kind, id }: Pick<IdClaim, 'account' | 'kind' | 'id'>): Promise<string | null> {
  const query = q.sql.selectFrom('sync_known_ids').select('error').where('account', '=', account).where('kind', '=', kind)
  return (await query.where('id', '=', id).executeTakeFirst())?.error ?? null
}

/** How a read by id ended, and when it is due again. */
export interface IdSettlement {
  readonly dueInMs: number
  readonly failures: number
  readonly notFound: number
  readonly error: string | null
  readonly complete: boolean
  readonly changed: boolean
  /** Whether nothing is expected of it any more; undefined keeps what is stored. */
  readonly isFinal?: boolean
  /** Of what was applied; see `isSameAgain`. */
  readonly contentHash?: string
}

/**
 * Ends a claim, in the transaction that applied the answer. If it was woken meanwhile, it is due again soon.
 * @throws LeaseLostError when another process has taken it over.
 */
export async function settleId(tx: Tx, claim: IdClaim, s: IdSettlement): Promise<void> {
  const woken = s.failures === 0 ? sql`wake_no > ${claim.wakeNo}` : sql`1 = 0`
  const set = [
    sql`failures = ${s.failures}, not_found = ${s.notFound}, error = ${s.error === null ? null : storableText(s.error)}`,
    sql`due_at = case when ${woken} then ${dbTime(tx, Math.min(s.dueInMs, DETAIL_WAKE_DELAY_MS))} else ${dbTime(tx, s.dueInMs)} end`,
  ]
  if (s.complete) set.push(sql`last_read_at = ${dbTime(tx)}`)
  if (s.changed) set.push(sql`last_changed_at = ${dbTime(tx)}`)
  if (s.isFinal !== undefined) set.push(sql`is_final = ${s.isFinal ? 1 : 0}`)
  if (s.contentHash !== undefined) set.push(hashColumns(s.contentHash, claim.readNo))
  await claimedIds.settle(tx, claim, sql.join(set))
}

/** Releases a claim unchanged, due at once. */
export async function releaseId(db: Db, claim: IdClaim): Promise<void> {
  await db.write('read-release', (tx) => claimedIds.release(tx, claim))
}

/** Forgets "not found" of all ids of an account, which was at fault itself. */
export async function resetNotFoundIds(db: Db, account: string): Promise<void> {
  await db.write('not-found-reset', (tx) =>
    sql`update sync_known_ids set not_found = 0, due_at = ${dbTime(tx)} where account = ${account} and not_found > 0 and lease_token is null`.execute(
      tx.sql,
    ),
  )
}

/** @returns how many of the ids are known. */
export async function countKnownIds(q: Query, account: string, ids: readonly Pick<KnownId, 'kind' | 'id'>[]): Promise<number> {
  const rows = ids.map(({ kind, id }) => ({ kind, id }))
  const counted = await sql<{ n: number }>`
    select count(*) as n from ${valuesTable(q, { kind: 'text', id: 'text' }, rows)}
    join sync_known_ids k on k.account = ${account} and k.kind = given.kind and k.id = given.id`.execute(q.sql)
  return Number(counted.rows[0]?.n)
}

/** Claims the right to apply a read by id (invariant 6). @returns false when one with a greater number has been applied; of an id that is not known none has. */
export async function advanceAppliedId(tx: Tx, account: string, kind: IdRead, id: string, readNo: number): Promise<boolean> {
  const result = await tx.sql
    .updateTable('sync_known_ids')
    .set({ applied_no: readNo })
    .where('account', '=', account)
    .where('kind', '=', kind)
    .where('id', '=', id)
    .where('applied_no', '<', readNo)
    .executeTakeFirst()
  if (result.numUpdatedRows > 0n) return true
  const known = tx.sql.selectFrom('sync_known_ids').select('id').where('account', '=', account).where('kind', '=', kind)
  return (await known.where('id', '=', id).executeTakeFirst()) === undefined
}

/** Takes a number for a read by id outside the schedule (invariant 6); null when the id is not known. */
export async function takeIdNumber(db: Db, account: string, kind: IdRead, id: string): Promise<number | null> {
  return db.write('reconcile-number', async (tx) => {
    const row = await tx.sql
      .updateTable('sync_known_ids')
      .set({ issued_no: nextNumber(tx) })
      .where('account', '=', account)
      .where('kind', '=', kind)
      .where('id', '=', id)
      .returning('issued_no')
      .executeTakeFirst()
    return row?.issued_no ?? null
  })
}

function notOf(kinds: readonly ReadKind[]): RawBuilder<unknown> {
  return kinds.length === 0 ? sql`` : sql`and kind not in (${sql.join(kinds)})`
}

function nextNumber(tx: Tx): RawBuilder<number> {
  return sql<number>`${greatest(tx, sql`issued_no`, sql`applied_no`)} + 1`
}

function rowOf({ account, kind, id, via, isStated, ...of }: NewKnownId) {
  return { account, kind, id, submission_id: submissionIn(of), via, is_stated: Number(isStated === true) }
}

function keyText({ account, kind, id }: NewKnownId): string {
  return `${account} ${kind} ${id}`
}
