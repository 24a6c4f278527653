import { sql } from 'kysely'
import { entities, entityNamed } from '../../model/entities.ts'
import { type Entity, ownKey, type Row } from '../../model/entity.ts'
import { orderByOccurredAt } from '../../model/order-by-occurred-at.ts'
import { entityIdOf } from '../../model/row-key.ts'
import type { Query } from '../engine/db.ts'
import { isBehind, rowsInOrder } from '../engine/keyset.ts'
import { valuesTable } from '../engine/sql.ts'
import type { SnapshotPosition } from './destinations.ts'

export interface SnapshotRow {
  readonly account: string
  readonly submissionId: string
  readonly entity: string
  readonly entityId: string
  readonly after: Row
}

/**
 * Accounts and tables that a snapshot reads. Null `entities` means all tables. A snapshot reads the accounts in the
 * order of their names, and the submissions of an account in the order of their ids. The snapshot reads the tables of a
 * submission in the order of `model/entities.ts`.
 */
export interface SnapshotScope {
  readonly accounts: readonly string[]
  readonly entities: readonly string[] | null
}

export interface SnapshotPage {
  readonly rows: readonly SnapshotRow[]
  /** Where the next page continues; null after the last page. */
  readonly position: SnapshotPosition | null
}

/** Reads the next rows after `position`. The page ends after `limit` rows or `limit` tables, whichever comes first. */
export async function snapshotPage(
  q: Query,
  scope: SnapshotScope,
  position: SnapshotPosition | null,
  limit: number,
): Promise<SnapshotPage> {
  const tables = entities.filter((entity) => scope.entities?.includes(entity.table) ?? true)
  const rows: SnapshotRow[] = []
  let at = position
  for (let looked = 0; rows.length < limit && looked < limit; looked++) {
    const place = await nextTable(q, scope, tables, at)
    if (place === null) return { rows, position: null }
    const { entity, account, submissionId, after } = place
    const found = await rowsInOrder(q, entity, { account, submission_id: submissionId }, after, limit - rows.length)
    rows.push(...orderByOccurredAt(entity, found, (row) => row).map((row) => snapshotRow(q, entity, row)))
    const last = found.at(-1)
    const key = last !== undefined && rows.length >= limit ? keyOf(entity, last) : []
    at = { account, submissionId, entity: entity.table, key: key.length > 0 ? key : null }
  }
  return { rows, position: at }
}

/** Reads the rows of a submission in these tables, at most `limitEach` rows of each table. */
export async function rowsOfSubmission(
  q: Query,
  tables: readonly string[],
  account: string,
  submissionId: string,
  limitEach: number,
): Promise<SnapshotRow[]> {
  const rows: SnapshotRow[] = []
  for (const entity of entities.filter(({ table }) => tables.includes(table))) {
    const found = await rowsInOrder(q, entity, { account, submission_id: submissionId }, null, limitEach)
    rows.push(...found.map((row) => snapshotRow(q, entity, row)))
  }
  return rows
}

/**
 * @returns where to continue after `at`: in the same table, in the submission's next table, or in the next submission.
 * Null at the end.
 */
async function nextTable(
  q: Query,
  scope: SnapshotScope,
  tables: readonly Entity[],
  at: SnapshotPosition | null,
): Promise<{ entity: Entity; account: string; submissionId: string; after: SnapshotPosition['key'] } | null> {
  const [first] = tables
  if (!first) return null
  if (at !== null) {
    const rank = rankOf(at.entity)
    const entity = tables.find((table) => (at.key === null ? rankOf(table.table) > rank : rankOf(table.table) >= rank))
    if (entity) return { entity, account: at.account, submissionId: at.submissionId, after: entity.table === at.entity ? at.key : null }
  }
  for (const account of [...scope.accounts].sort()) {
    if (at !== null && account < at.account) continue
    const behind = at?.account === account ? sql`and submission_id > ${at.submissionId}` : sql``
    const row = await q.one(sql<{ submission_id: string }>`
      select submission_id from submissions where account = ${account} ${behind} order by submission_id limit 1`)
    if (row) return { entity: first, account, submissionId: row.submission_id, after: null }
  }
  return null
}

interface Placed {
  readonly account: string
  readonly submission_id: string | null
  readonly entity: string
  readonly entity_id: string
}

/**
 * @returns for each record, whether the snapshot will still reach the record. If so, the record's changes needn't be
 * queued, because the snapshot's row will contain the changes.
 */
export async function stillToCome(q: Query, position: SnapshotPosition | null, records: readonly Placed[]): Promise<boolean[]> {
  if (position === null) return records.map(() => true)
  const behind = await submissionsBehind(q, position.submissionId, records)
  const answers: boolean[] = []
  for (const record of records) {
    if (record.account !== position.account) answers.push(record.account > position.account)
    else if (record.submission_id !== position.submissionId) answers.push(behind.has(record.submission_id ?? ''))
    else answers.push(await isRecordBehind(q, position, record))
  }
  return answers
}

async function submissionsBehind(q: Query, submissionId: string, records: readonly Placed[]): Promise<ReadonlySet<string>> {
  const ids = [...new Set(records.map((record) => record.submission_id ?? ''))].map((id) => ({ id }))
  const rows = await q.all(sql<{ id: string }>`
    select id from ${valuesTable(q, { id: 'text' }, ids)} where id > ${submissionId}`)
  return new Set(rows.map((row) => row.id))
}

async function isRecordBehind(q: Query, position: SnapshotPosition, record: Placed): Promise<boolean> {
  if (record.entity !== position.entity) return rankOf(record.entity) > rankOf(position.entity)
  const entity = entityNamed(record.entity)
  if (!entity || position.key === null) return false
  const id = JSON.parse(record.entity_id) as (string | number)[]
  const key = ownKey(entity).map((column) => id[entity.key.indexOf(column) - 1] ?? '')
  const row = await q.one(sql<{ behind: number }>`
    select case when ${isBehind(q, entity, ownKey(entity), position.key, key)} then 1 else 0 end as behind`)
  return row?.behind === 1
}

function rankOf(table: string): number {
  return entities.findIndex((entity) => entity.table === table)
}

function snapshotRow(q: Query, entity: Entity, row: Row): SnapshotRow {
  return {
    account: String(row['account']),
    submissionId: String(row['submission_id']),
    entity: entity.table,
    entityId: entityIdOf(entity, row),
    after: q.protection.row(entity, row),
  }
}

function keyOf(entity: Entity, row: Row): (string | number)[] {
  return ownKey(entity).map((column) => row[column] as string | number)
}
