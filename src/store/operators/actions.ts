import { sql } from 'kysely'
import { type Json, sameJson, storableJson, storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbWith } from '../engine/parts.ts'
import { dbTime, rowLock, timeValue } from '../engine/sql.ts'
import type { ActionOutcome } from '../schema/operators.ts'

/** Facts about an action, by name. Never a secret, and of a submission only its id. */
export type ActionDetail = Readonly<Record<string, Json>>

/** An entry of the audit log. */
export interface AuditEntry {
  /** The name of a token, `command` for a command beside the database, or `signal` for a signal to the process. */
  readonly who: string
  /** The action in two words: `destination.pause`. */
  readonly action: string
  /** The name of what it is done to; null for several things. */
  readonly target: string | null
  readonly detail: ActionDetail
}

/** A stored entry. */
export interface StoredAuditEntry extends AuditEntry {
  readonly action_id: number
  readonly at: TimeText
  readonly outcome: ActionOutcome
}

/**
 * The same database, but each write transaction first inserts the audit entry, so that neither exists without the other. For an action of one
 * transaction.
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
 * Audits an action of several transactions, or one outside the database: the entry is stored before it and completed after it. If the process
 * dies in between, the entry stays `begun`.
 * @param work the `detail` that it returns is added to the entry; `failed` marks the action as failed.
 * @throws what `work` throws; the entry then says `failed`.
 */
export async function auditAction<T extends { readonly detail: ActionDetail; readonly failed?: boolean }>(
  db: Db,
  note: AuditEntry,
  work: () => Promise<T>,
): Promise<T> {
  const actionId = await db.write('action-begun', (tx) => insertNote(tx, note, 'begun'))
  let ended: T
  try {
    ended = await work()
  } catch (error) {
    // The caller gets the error itself; one about the audit entry would only hide it.
    await endNote(db, actionId, 'failed', note.detail).catch(() => undefined)
    throw error
  }
  await endNote(db, actionId, ended.failed === true ? 'failed' : 'done', { ...note.detail, ...ended.detail })
  return ended
}

/** A note tells of what one person was shown of a list within this time of its beginning. */
const ONE_SHOWING_MS = 3_600_000
/** Notes of that time that are looked at: one person may follow several lists of one kind. */
const SHOWINGS = 20

/**
 * Notes that a program was shown one more page of a list that it follows. A note of the last hour on the same list is extended in place of a new
 * one: of its numbers `from` becomes the least and `to` the greatest, and all others are added up.
 * @param note its detail names the list by what is no number.
 */
export async function noteFollowing(db: Db, note: AuditEntry): Promise<void> {
  await db.write('showing-noted', async (tx) => {
    const target = note.target === null ? null : storableText(note.target)
    const { rows } = await sql<{ action_id: number; detail: ActionDetail | null }>`
      select action_id, detail from operator_actions
      where action = ${note.action} and who = ${storableText(note.who)} and outcome = 'done' and target is not distinct from ${target}
        and at >= ${dbTime(tx, -ONE_SHOWING_MS)}
      order by action_id desc limit ${sql.lit(SHOWINGS)} ${rowLock(tx, 'for update')}`.execute(tx.sql)
    for (const { action_id, detail } of rows) {
      const extended = extendedDetail(detail ?? {}, note.detail)
      if (extended !== null) return await noteProgress(tx, action_id, extended)
    }
    await insertNote(tx, note, 'done')
  })
}

/** null when both are about different lists. */
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

/** Stores an entry within a transaction. @returns its number. */
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

async function endNote(db: Db, actionId: number, outcome: ActionOutcome, detail: ActionDetail): Promise<void> {
  await db.write('action-ended', (tx) =>
    tx.sql
      .updateTable('operator_actions')
      .set({ outcome, detail: JSON.stringify(storableJson(detail)) })
      .where('action_id', '=', actionId)
      .execute(),
  )
}

/**
 * Begins an action of several transactions that an interruption leaves `begun`, so that `unfinishedAction` finds it and it can go on; see
 * `auditAction` for others.
 */
export function beginAction(db: Db, note: AuditEntry): Promise<number> {
  return db.write('action-begun', (tx) => insertNote(tx, note, 'begun'))
}

/** Ends an action that was begun. */
export function endAction(db: Db, actionId: number, outcome: Exclude<ActionOutcome, 'begun'>, detail: ActionDetail): Promise<void> {
  return endNote(db, actionId, outcome, detail)
}

/** How far an action has come, by its entry; null when it has ended. Until the transaction ends nobody else moves it on. */
export async function actionInProgress(tx: Tx, actionId: number): Promise<ActionDetail | null> {
  const { rows } = await sql<{ detail: ActionDetail | null; outcome: ActionOutcome }>`
    select detail, outcome from operator_actions where action_id = ${actionId} ${rowLock(tx, 'for update')}`.execute(tx.sql)
  const [row] = rows
  return row?.outcome === 'begun' ? (row.detail ?? {}) : null
}

/** Writes how far an action has come. */
export async function noteProgress(tx: Tx, actionId: number, detail: ActionDetail): Promise<void> {
  await tx.sql
    .updateTable('operator_actions')
    .set({ detail: JSON.stringify(storableJson(detail)) })
    .where('action_id', '=', actionId)
    .execute()
}

/** The actions of a kind on a target that began in the last `withinMs` and have not ended, the newest first. */
export async function unfinishedActions(
  q: Query,
  { action, target }: { readonly action: string; readonly target: string },
  withinMs: number,
): Promise<StoredAuditEntry[]> {
  const rows = await q.sql
    .selectFrom('operator_actions')
    .select(['action_id', 'at', 'who', 'action', 'target', 'detail', 'outcome'])
    .where('action', '=', action)
    .where('target', '=', target)
    .where('outcome', '=', 'begun')
    .where('at', '>=', dbTime(q, -withinMs))
    .orderBy('action_id', 'desc')
    .execute()
  return rows.map((row) => ({ ...row, detail: (row.detail ?? {}) as ActionDetail }))
}

/** Which actions to list; fields left out do not narrow. */
export interface ActionFilter {
  readonly who?: string | undefined
  readonly action?: string | undefined
  readonly since?: TimeText | undefined
  /** Only actions behind this one in the list: older ones. */
  readonly after?: number | undefined
}

/** Actions of operators, the newest first. */
export async function listActions(q: Query, filter: ActionFilter, limit: number): Promise<StoredAuditEntry[]> {
  let query = q.sql.selectFrom('operator_actions').select(['action_id', 'at', 'who', 'action', 'target', 'detail', 'outcome'])
  if (filter.who !== undefined) query = query.where('who', '=', filter.who)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  if (filter.since !== undefined) query = query.where('at', '>=', timeValue(q, filter.since) as never)
  if (filter.after !== undefined) query = query.where('action_id', '<', filter.after)
  const rows = await query.orderBy('action_id', 'desc').limit(limit).execute()
  return rows.map((row) => ({ ...row, detail: (row.detail ?? {}) as ActionDetail }))
}
