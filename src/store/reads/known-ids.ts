import { sql } from 'kysely'
import type { KnownId, KnownKind } from '../../model/known-ids.ts'
import { type IdRead, idReads } from '../../model/reads.ts'
import type { Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, valuesTable } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'
import { byKey, DETAIL_WAKE_DELAY_MS, rank, type Wake } from './reads.ts'

/**
 * Schedule of reads by id: of bind requests, policies, and insureds. Each known id has its own row in `sync_reads`. The
 * row's `submission_id` is empty, because the object may belong to another submission than the one whose answer named
 * its id.
 */

/** An id, its account, and in `via` what first named the id. */
export interface NewKnownId extends KnownId {
  readonly account: string
  readonly via: string
}

/**
 * Adds unknown ids, due immediately if they can be read by id. Stores the first submission that named an id. If the
 * object itself names its submission, that submission replaces the stored one.
 */
export async function learnIds(tx: Tx, given: readonly NewKnownId[]): Promise<void> {
  if (given.length === 0) return
  const rows = [...given].sort((a, b) => (keyText(a) < keyText(b) ? -1 : 1)).map(rowOf)
  const columns = { account: 'text', kind: 'text', id: 'text', named_for: 'text', via: 'text', is_stated: 'int' } as const
  const known = await tx.all(sql<{ account: string; kind: KnownKind; id: string; named_for: string }>`
    select k.account, k.read as kind, k.id, k.named_for from ${valuesTable(tx, columns, rows)}
    join sync_reads k on k.account = given.account and k.submission_id = '' and k.id = given.id and ${byKey('k')} = given.kind`)
  const submissionOf = new Map(known.map((row) => [keyText(row), row.named_for]))
  const fresh = rows.filter((row) => {
    const stored = submissionOf.get(keyText(row))
    return stored === undefined || (row.named_for !== '' && stored !== row.named_for && (stored === '' || row.is_stated === 1))
  })
  if (fresh.length === 0) return
  const now = dbTime(tx)
  // A null due time means never due: for documents, which aren't read by id, and for bind requests without a
  // submission, whose path needs one.
  const due = sql`case when given.kind in (${sql.join(idReads)}) and (given.kind <> 'bind_request' or given.named_for <> '') then ${now} end`
  for (const isStated of [0, 1]) {
    const some = fresh.filter(({ is_stated }) => is_stated === isStated)
    if (some.length === 0) continue
    await tx.run(sql`
      insert into sync_reads (account, submission_id, read, id, named_for, via, first_seen_at, is_final, rank, due_at, request_no, cursor_no,
        issued_no, applied_no, failures, not_found, stalled_feed_reads)
      select given.account, '', given.kind, given.id, given.named_for, given.via, ${now}, 0, ${sql.lit(rank.byId)}, ${due}, 0, 0, 0, 0, 0, 0, 0
      from ${valuesTable(tx, columns, some)}
      where not exists (select 1 from sync_purged p where p.account = given.account and p.submission_id = given.named_for)
      on conflict (account, submission_id, read, id) do update set named_for = excluded.named_for,
        due_at = case when sync_reads.lease_token is null then excluded.due_at else sync_reads.due_at end,
        request_no = sync_reads.request_no + 1, failures = 0, not_found = 0
      where excluded.named_for <> '' and (sync_reads.named_for = '' or ${sql.lit(isStated)} = 1)`)
  }
  wake(tx, 'reads')
}

/**
 * Makes reads by id due soon if the requirements of their submission are requested. Applies to all bind requests, and
 * to policies and insureds that were never read. A policy appears when its submission is bound (trap 79).
 */
export async function wakeIdsOf(tx: Tx, wakes: readonly Wake[], delayMs = DETAIL_WAKE_DELAY_MS): Promise<void> {
  const keys = new Map(wakes.filter(({ read }) => read === 'requirements').map((one) => [`${one.account} ${one.submissionId}`, one]))
  if (keys.size === 0) return
  const rows = [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { account, submissionId }]) => ({ account, named_for: submissionId }))
  const soon = dbTime(tx, delayMs)
  await tx.run(sql`
    update sync_reads set request_no = request_no + 1,
      due_at = case when lease_token is null and failures = 0 and due_at > ${soon} then ${soon} else due_at end
    from ${valuesTable(tx, { account: 'text', named_for: 'text' }, rows)}
    where sync_reads.account = given.account and sync_reads.named_for = given.named_for
      and (read = 'bind_request' or (read in ('policy', 'insured') and last_read_at is null))`)
}

export async function requestIdsOf(tx: Tx, account: string, submissionIds: readonly string[]): Promise<void> {
  await tx.run(sql`
    update sync_reads set request_no = request_no + 1,
      due_at = case when lease_token is null and failures = 0 then ${dbTime(tx)} else due_at end
    where account = ${account} and named_for in (${sql.join(submissionIds)}) and due_at is not null`)
}

/** An id, and the submission whose answer named it; '' if unknown. */
export interface NamedId {
  readonly read: IdRead
  readonly id: string
  readonly namedFor: string
}

/**
 * Lists the ids that answers about these submissions named, without ids that are never read.
 * @param submissionIds submissions; '' selects ids whose submission is unknown.
 */
export async function listIdsOf(q: Query, account: string, submissionIds: readonly string[]): Promise<NamedId[]> {
  return await q.all(sql<NamedId>`
    select read, id, named_for as "namedFor" from sync_reads
    where account = ${account} and named_for in (${sql.join(submissionIds)}) and due_at is not null order by read, id`)
}

/** Counts how many of these ids are known. */
export async function countKnownIds(q: Query, account: string, ids: readonly Pick<KnownId, 'kind' | 'id'>[]): Promise<number> {
  const rows = ids.map(({ kind, id }) => ({ kind, id }))
  return await q.count(sql<{ n: number }>`
    select count(*) as n from ${valuesTable(q, { kind: 'text', id: 'text' }, rows)}
    join sync_reads k on k.account = ${account} and k.submission_id = '' and k.read = given.kind and k.id = given.id`)
}

/** Lists the ids of documents that a submission's answers named. */
export async function documentIdsOf(q: Query, account: string, submissionId: string): Promise<readonly string[]> {
  return (await documentIdsOfAll(q, account, [submissionId])).get(submissionId) ?? []
}

/** Lists the ids of documents that the submissions' answers named, by submission. */
export async function documentIdsOfAll(q: Query, account: string, submissionIds: readonly string[]): Promise<Map<string, string[]>> {
  if (submissionIds.length === 0) return new Map()
  const rows = await q.all(sql<Columns<'sync_reads', 'id' | 'named_for'>>`
    select id, named_for from sync_reads where account = ${account} and named_for in (${sql.join(submissionIds)})
    and read = 'document'`)
  const groups = Map.groupBy(rows, ({ named_for }) => named_for ?? '')
  return new Map([...groups].map(([id, own]) => [id, own.map((row) => row.id)]))
}

function rowOf({ account, kind, id, via, isStated, submissionId }: NewKnownId) {
  return { account, kind, id, named_for: submissionId, via, is_stated: Number(isStated === true) }
}

function keyText({ account, kind, id }: Pick<NewKnownId, 'account' | 'kind' | 'id'>): string {
  return `${account} ${kind} ${id}`
}
