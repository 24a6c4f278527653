import { type Json, storableJson, storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'
import type { ActionOutcome } from '../schema/tables-operations.ts'

/** The names of facts about an action. Never a secret, and nothing out of a submission but ids. */
export type ActionDetail = Readonly<Record<string, Json>>

/** What somebody does, as it is noted. */
export interface AuditEntry {
  /** The name of a token, `command` for whoever can run commands beside the database, or `signal` for whoever can send one. */
  readonly who: string
  /** What is done, in two words: `destination.pause`. */
  readonly action: string
  /** What it is done to, by its name; null when that is several things. */
  readonly target: string | null
  readonly detail: ActionDetail
}

/** An action as it is kept. */
export interface StoredAuditEntry extends Omit<AuditEntry, 'detail'> {
  readonly action_id: number
  readonly at: TimeText
  readonly detail: ActionDetail
  readonly outcome: ActionOutcome
}

/**
 * The same database, but whoever writes through it leaves a note of what he does: each transaction begins with the note, so that
 * neither is there without the other. For an action of one transaction.
 */
export function auditedDb(db: Db, note: AuditEntry): Db {
  const { kind, processId, clock, signals, read } = db
  return {
    ...{ kind, processId, clock, signals, read },
    write: (name, work, options) =>
      db.write(
        name,
        async (tx) => {
          await insertNote(tx, note, 'done')
          return await work(tx)
        },
        options,
      ),
    listen: (signal) => db.listen(signal),
    close: () => db.close(),
  }
}

/**
 * For an action of several transactions, or of something outside the database: notes it before, and how it ended after. Of one whose
 * process dies meanwhile the note says `begun` for ever.
 * @param work what it returns under `detail` is added to the note; `failed` says that it was in vain.
 * @throws what `work` throws; the note then says `failed`.
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
    // What went wrong is told to who asked for it; that it cannot be noted either is no better news.
    await endNote(db, actionId, 'failed', note.detail).catch(() => undefined)
    throw error
  }
  await endNote(db, actionId, ended.failed === true ? 'failed' : 'done', { ...note.detail, ...ended.detail })
  return ended
}

async function insertNote(tx: Tx, note: AuditEntry, outcome: ActionOutcome): Promise<number> {
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

/** Which actions are meant; what is left out does not narrow. */
export interface ActionFilter {
  readonly who?: string | undefined
  readonly action?: string | undefined
  readonly since?: TimeText | undefined
  /** Only those behind this one in the list: older ones. */
  readonly after?: number | undefined
}

/** What operators did, the newest first. */
export async function listActions(q: Query, filter: ActionFilter, limit: number): Promise<StoredAuditEntry[]> {
  let query = q.sql.selectFrom('operator_actions').select(['action_id', 'at', 'who', 'action', 'target', 'detail', 'outcome'])
  if (filter.who !== undefined) query = query.where('who', '=', filter.who)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  if (filter.since !== undefined) query = query.where('at', '>=', timeValue(q, filter.since) as never)
  if (filter.after !== undefined) query = query.where('action_id', '<', filter.after)
  const rows = await query.orderBy('action_id', 'desc').limit(limit).execute()
  return rows.map((row) => ({ ...row, detail: (row.detail ?? {}) as ActionDetail }))
}
