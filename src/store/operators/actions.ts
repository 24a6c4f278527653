import { sql } from 'kysely'
import { type Json, sameJson, storableJson, storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbWith } from '../engine/parts.ts'
import { dbTime, rowLock, timeValue } from '../engine/sql.ts'
import type { ActionOutcome } from '../schema/operators.ts'
import type { Columns } from '../schema/tables.ts'

/** Details of an action, by name. Contains no secrets, and no data of a submission except its id. */
export type ActionDetail = Readonly<Record<string, Json>>

export interface AuditEntry {
  /**
   * Name of the token or person; `command` for the CLI; `signal` for a signal to the process; `schedule` for `serve`;
   * `program` for a log divergence.
   */
  readonly who: string
  /** Object and verb, such as `destination.pause`. */
  readonly action: string
  /** Name of the target, such as a destination; null if the action has no target or several targets. */
  readonly target: string | null
  readonly detail: ActionDetail
}

export interface StoredAuditEntry extends AuditEntry {
  readonly action_id: number
  readonly at: TimeText
  readonly outcome: ActionOutcome
}

/**
 * Wraps a database. In the wrapped database, each write transaction first inserts the audit entry.
 * Use this function for actions that have one transaction.
 */
export function auditedDb(db: Db, note: AuditEntry): Db {
  return dbWith(db, {
    write(name, work, options) {
      const noted = async (tx: Tx) => {
        await insertNote(tx, note, 'done')
        return await work(tx)
      }
      return db.write(name, noted, options)
    },
  })
}

/**
 * Audits an action that has several transactions or works outside the database. If the process dies during the action,
 * the entry keeps the outcome `begun`.
 * @param work performs the action. The returned `detail` is added to the entry.
 * If the returned `failed` is true, the entry gets the outcome `failed`.
 * @throws errors of `work`, after marking the entry as failed.
 */
export async function auditAction<T extends { readonly detail: ActionDetail; readonly failed?: boolean }>(
  db: Db,
  note: AuditEntry,
  work: () => Promise<T>,
): Promise<T> {
  const actionId = await beginAction(db, note)
  let ended: T
  try {
    ended = await work()
  } catch (error) {
    // If this update also fails, only the error of `work` is thrown.
    await endAction(db, actionId, 'failed', note.detail).catch(() => undefined)
    throw error
  }
  await endAction(db, actionId, ended.failed === true ? 'failed' : 'done', { ...note.detail, ...ended.detail })
  return ended
}

/** Pages of a list that are shown within this many ms after the first page share one audit entry. */
const ONE_SHOWING_MS = 3_600_000
/** Number of newest entries to search for an entry about the same list. A user may read several lists. */
const SHOWINGS = 20

/**
 * Audits that a page of a list was shown. If an entry of the last hour is about the same list, extends this entry:
 * `from` becomes the minimum, `to` becomes the maximum, and other numbers are added up. Otherwise, inserts an entry.
 * @param note entry for the page. Two entries are about the same list if only numbers in `detail` differ.
 */
export async function noteFollowing(db: Db, note: AuditEntry): Promise<void> {
  await db.write('showing-noted', async (tx) => {
    const target = note.target === null ? null : storableText(note.target)
    const rows = await tx.all(sql<{ action_id: number; detail: ActionDetail | null }>`
      select action_id, detail from operator_actions
      where action = ${note.action} and who = ${storableText(note.who)} and outcome = 'done' and target is not distinct from ${target}
        and at >= ${dbTime(tx, -ONE_SHOWING_MS)}
      order by action_id desc limit ${sql.lit(SHOWINGS)} ${rowLock(tx, 'for update')}`)
    for (const { action_id, detail } of rows) {
      const extended = extendedDetail(detail ?? {}, note.detail)
      if (extended !== null) return await recordProgress(tx, action_id, extended)
    }
    await insertNote(tx, note, 'done')
  })
}

/** @returns the details of both entries combined; null if the entries record reads of different lists. */
function extendedDetail(before: ActionDetail, now: ActionDetail): ActionDetail | null {
  const extended: Record<string, Json> = {}
  for (const [name, value] of Object.entries(now)) {
    const known = before[name] ?? null
    if (typeof value === 'number' && typeof known === 'number') extended[name] = extendedNumber(name, known, value)
    else if (sameJson(known, value)) extended[name] = value
    else return null
  }
  return extended
}

function extendedNumber(name: string, known: number, value: number): number {
  if (name === 'from') return Math.min(known, value)
  return name === 'to' ? Math.max(known, value) : known + value
}

/**
 * Inserts an audit entry.
 * @returns the id of the entry.
 */
export async function insertNote(tx: Tx, note: AuditEntry, outcome: ActionOutcome): Promise<number> {
  const { action_id } = await tx.sql
    .insertInto('operator_actions')
    .values({
      at: dbTime(tx),
      who: storableText(note.who),
      action: note.action,
      target: note.target === null ? null : storableText(note.target),
      detail: JSON.stringify(storableJson(note.detail)),
      outcome,
    })
    .returning('action_id')
    .executeTakeFirstOrThrow()
  return action_id
}

/**
 * Stores an entry with the outcome `begun`. If the action is interrupted, `unfinishedActions` finds the entry.
 * @returns the id of the entry.
 */
export function beginAction(db: Db, note: AuditEntry): Promise<number> {
  return db.write('action-begun', (tx) => insertNote(tx, note, 'begun'))
}

export async function endAction(db: Db, actionId: number, outcome: Exclude<ActionOutcome, 'begun'>, detail: ActionDetail): Promise<void> {
  await db.write('action-ended', (tx) =>
    tx.run(sql`
    update operator_actions set outcome = ${outcome}, detail = ${JSON.stringify(storableJson(detail))} where action_id = ${actionId}`),
  )
}

/**
 * Reads the details of an action and locks its entry until the transaction ends.
 * @returns null if the action has ended.
 */
export async function actionInProgress(tx: Tx, actionId: number): Promise<ActionDetail | null> {
  const row = await tx.one(sql<{ detail: ActionDetail | null; outcome: ActionOutcome }>`
    select detail, outcome from operator_actions where action_id = ${actionId} ${rowLock(tx, 'for update')}`)
  return row?.outcome === 'begun' ? (row.detail ?? {}) : null
}

export async function recordProgress(tx: Tx, actionId: number, detail: ActionDetail): Promise<void> {
  await tx.run(sql`update operator_actions set detail = ${JSON.stringify(storableJson(detail))} where action_id = ${actionId}`)
}

/** Lists unfinished actions of one kind on one target that began in the last `withinMs`, newest first. */
export async function unfinishedActions(
  q: Query,
  { action, target }: { readonly action: string; readonly target: string },
  withinMs: number,
): Promise<StoredAuditEntry[]> {
  const rows = await q.all(sql<Columns<'operator_actions', 'action_id' | 'at' | 'who' | 'action' | 'target' | 'detail' | 'outcome'>>`
    select action_id, at, who, action, target, detail, outcome from operator_actions where action = ${action} and target = ${target}
    and outcome = 'begun' and at >= ${dbTime(q, -withinMs)} order by action_id desc`)
  return rows.map((row) => ({ ...row, detail: (row.detail ?? {}) as ActionDetail }))
}

export interface ActionFilter {
  readonly who?: string | undefined
  readonly action?: string | undefined
  readonly since?: TimeText | undefined
  /** Only actions with a lower id. */
  readonly after?: number | undefined
}

export async function listActions(q: Query, filter: ActionFilter, limit: number): Promise<StoredAuditEntry[]> {
  let query = q.sql.selectFrom('operator_actions').select(['action_id', 'at', 'who', 'action', 'target', 'detail', 'outcome'])
  if (filter.who !== undefined) query = query.where('who', '=', filter.who)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  if (filter.since !== undefined) query = query.where('at', '>=', timeValue(q, filter.since) as never)
  if (filter.after !== undefined) query = query.where('action_id', '<', filter.after)
  const rows = await query.orderBy('action_id', 'desc').limit(limit).execute()
  return rows.map((row) => ({ ...row, detail: (row.detail ?? {}) as ActionDetail }))
}
