import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import { type Json, parsedJson } from '../../model/json.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { rejectedPlace } from '../inbox/rejected.ts'
import { bodyPlace } from '../inbox/work.ts'
import { type ProtectedTable, protectedTables } from './protected-tables.ts'
import { lastUpkeep, renewUpkeep, type UpkeepLease } from './upkeep.ts'

export const PROTECT_TASK = 'protect'

/**
 * Progress of a run that protects stored data. The progress is stored with the lease, so that another process can
 * resume the run.
 */
export interface ProtectProgress {
  /** Position of the current table in `protectedNames`; the number of tables if all tables are done. */
  readonly table: number
  /** Key of the last processed row of the current table; null before the first row. */
  readonly after: readonly Json[] | null
  readonly rewritten: number
}

export const PROTECT_BEGIN: ProtectProgress = { table: 0, after: null, rewritten: 0 }

/** Tables with bodies of deliveries, stored as bytes. */
const BODIES = ['sync_inbox', 'sync_rejected'] as const

/** Names of all tables to protect, in the order of processing. */
export const protectedNames: readonly string[] = [...protectedTables.map(({ spec }) => spec.table), ...BODIES]

/** @returns the settings, times, and progress of the last run; null if protection never ran. */
export async function lastProtect(q: Query) {
  const row = await lastUpkeep(q, PROTECT_TASK)
  if (row === null) return null
  return { settings: row.settings, beganAt: row.began_at, endedAt: row.ended_at, progress: progressIn(row.note) }
}

function progressIn(note: string | null): ProtectProgress {
  return (parsedJson(note ?? '') as ProtectProgress | undefined) ?? PROTECT_BEGIN
}

/**
 * Stores the progress of a run and renews the lease.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function saveProgress(tx: Tx, lease: UpkeepLease, progress: ProtectProgress): Promise<void> {
  await renewUpkeep(tx, lease)
  await tx.run(sql`update sync_upkeep set note = ${JSON.stringify(progress)} where task = ${lease.task}`)
}

/**
 * Checks the next `limit` rows. Rewrites the rows that need protection, in one transaction.
 * @returns the new progress.
 * @throws LeaseLostError if rows need protection and this process lost the lease.
 */
export async function protectNext(db: Db, lease: UpkeepLease, at: ProtectProgress, limit: number): Promise<ProtectProgress> {
  const table = protectedTables[at.table]
  const body = BODIES[at.table - protectedTables.length]
  if (table === undefined && body === undefined) return at
  const key = table?.spec.key ?? [body === 'sync_inbox' ? 'inbox_id' : 'rejected_id']
  const name = protectedNames[at.table] as string
  const keys = await keysAfter(db.read, name, key, at.after, limit)
  const pending = table ? await pendingRows(db.read, table, keys) : await pendingBodies(db.read, body as Body, numbers(keys, key))
  const last = keys.at(-1)
  const next: ProtectProgress = {
    ...(last === undefined || keys.length < limit
      ? { table: at.table + 1, after: null }
      : { table: at.table, after: key.map((column) => last[column] ?? null) }),
    rewritten: at.rewritten + pending.length,
  }
  if (pending.length > 0) {
    await db.write('protect', async (tx) => {
      if (table) await rewriteRows(tx, table, pending as Row[])
      else await rewriteBodies(tx, body as Body, pending as number[])
      await saveProgress(tx, lease, next)
    })
  }
  return next
}

type Body = (typeof BODIES)[number]

async function keysAfter(q: Query, table: string, key: readonly string[], after: readonly Json[] | null, limit: number): Promise<Row[]> {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  const behind: RawBuilder<unknown> = after === null ? sql`` : sql`where (${columns}) > (${sql.join(after.map((value) => sql`${value}`))})`
  return await q.all(sql<Row>`select ${columns} from ${sql.table(table)} ${behind} order by ${columns} limit ${sql.lit(limit)}`)
}

async function pendingRows(q: Query, { spec, protect }: ProtectedTable, keys: readonly Row[]): Promise<Row[]> {
  if (keys.length === 0) return []
  const rows = await q.selectMany(spec, keys)
  return rows
    .filter((row) => protect(q.protection, row) !== row)
    .map((row) => Object.fromEntries(spec.key.map((column) => [column, row[column] ?? null])))
}

async function rewriteRows(tx: Tx, { spec, protect }: ProtectedTable, keys: readonly Row[]): Promise<void> {
  for (const row of await tx.selectMany(spec, keys, { lock: true })) {
    const next = protect(tx.protection, row)
    const columns = Object.keys(spec.columns).filter((column) => next[column] !== row[column])
    if (columns.length > 0) await tx.updateMany(spec, columns, [next])
  }
}

function numbers(keys: readonly Row[], [key = '']: readonly string[]): number[] {
  return keys.map((row) => row[key] as number)
}

/** @returns the ids of the rows whose body needs protection, except deliveries that aren't processed yet. */
async function pendingBodies(q: Query, table: Body, ids: readonly number[]): Promise<number[]> {
  return (await bodiesOf(q, table, ids)).filter(({ body, place }) => q.protection.bytes(body, place) !== body).map(({ id }) => id)
}

async function rewriteBodies(tx: Tx, table: Body, ids: readonly number[]): Promise<void> {
  for (const { id, body: stored, place } of await bodiesOf(tx, table, ids)) {
    const body = tx.protection.bytes(stored, place)
    if (table === 'sync_inbox')
      await tx.sql.updateTable(table).set({ body }).where('inbox_id', '=', id).where('state', '<>', 'ready').execute()
    else await tx.sql.updateTable(table).set({ body }).where('rejected_id', '=', id).execute()
  }
}

async function bodiesOf(q: Query, table: Body, ids: readonly number[]) {
  if (ids.length === 0) return []
  if (table === 'sync_inbox') {
    const rows = await q.sql
      .selectFrom(table)
      .select(['inbox_id', 'account', 'delivery_id', 'body'])
      .where('inbox_id', 'in', ids)
      .where('state', '<>', 'ready')
      .execute()
    return rows.flatMap(({ inbox_id: id, account, delivery_id: deliveryId, body }) =>
      body === null ? [] : [{ id, body, place: bodyPlace({ account, deliveryId }) }],
    )
  }
  const rows = await q.sql
    .selectFrom(table)
    .select(['rejected_id', 'account', 'received_at', 'body'])
    .where('rejected_id', 'in', ids)
    .execute()
  return rows.flatMap(({ rejected_id: id, account, received_at: receivedAt, body }) =>
    body === null ? [] : [{ id, body, place: rejectedPlace({ account, receivedAt }) }],
  )
}
