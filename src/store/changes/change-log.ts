import { type RawBuilder, sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import { LogMovedError, requireServer } from '../engine/checked-server.ts'
import type { Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { greatest } from '../engine/sql.ts'
import { changes } from '../schema/log.ts'
import { specOf } from '../schema/table.ts'
import { fingerprintOf } from './log-fingerprint.ts'

const changesTable = specOf(changes)

/**
 * Appends changes to the change log and numbers them without gaps.
 * Call this last in a transaction. Until the commit, the counter row stays locked, and other appends wait.
 * @throws LogMovedError if the connection reached another server, or if the log lacks a change that this process saw.
 */
export async function appendChanges(tx: Tx, changes: readonly Change[]): Promise<void> {
  const [newest] = changes.slice(-1)
  if (newest === undefined) return
  const changed_at = timeFromMs(tx.clock.now())
  const { last_seq, log_epoch, now_on } = await (tx.kind === 'sqlite' ? numberThenInsert : insertNumbered)(tx, changes, changed_at)
  if (now_on !== null) requireServer(tx, now_on)
  requireAllSeen(tx, log_epoch, last_seq - changes.length)
  const mark = { seq: last_seq, fingerprint: fingerprintOf({ ...newest, changed_at }), touched: touchedBy(changes) }
  tx.afterCommit(() => tx.seen.add(log_epoch, mark))
  wake(tx, 'changes')
}

interface Advanced {
  readonly last_seq: number
  readonly log_epoch: string
  /** Identity of the Postgres server that ran the statement; null if unknown, and on SQLite. */
  readonly now_on: string | null
}

async function numberThenInsert(tx: Tx, changes: readonly Change[], changed_at: TimeText): Promise<Advanced> {
  const advanced = await tx.sql
    .updateTable('mirror_info')
    .set({ last_seq: sql<number>`${lastAssigned(tx)} + ${sql.lit(changes.length)}` })
    .where('id', '=', 1)
    .returning(['last_seq', 'log_epoch', sql<null>`null`.as('now_on')])
    .executeTakeFirstOrThrow()
  const first = advanced.last_seq - changes.length + 1
  await tx.insertMany(
    changesTable,
    changes.map((change, index) => ({ seq: first + index, ...change, changed_at })),
  )
  return advanced
}

/**
 * Advances the counter and inserts the rows in one statement.
 * So the counter row is locked only for one round trip and the commit.
 */
async function insertNumbered(tx: Tx, changes: readonly Change[], changedAt: TimeText): Promise<Advanced> {
  const given = JSON.stringify(changes.map((change, index) => ({ ...change, place: index + 1 })))
  const advanced = await tx.one(sql<Advanced>`
    with counter as (
      update mirror_info set last_seq = ${lastAssigned(tx)} + ${sql.lit(changes.length)} where id = 1
      returning last_seq, log_epoch, ${tx.seen.serverExpression ?? sql`null::text`} as now_on),
    written as (
      insert into changes (seq, account, submission_id, entity, entity_id, operation, changed_at, cause, before, after)
      select counter.last_seq - ${sql.lit(changes.length)} + place, account, submission_id, entity, entity_id, operation,
        ${changedAt}::timestamptz, cause, before, after
      from counter, json_to_recordset(${given}::json) as given(place bigint, account text, submission_id text, entity text, entity_id text,
        operation text, cause text, before jsonb, after jsonb))
    select last_seq, log_epoch, now_on from counter`)
  if (advanced === null) throw new Error('mirror_info has no row')
  return advanced
}

/**
 * Prevents assigning the same number to two changes.
 * @param lastSeq the last number in the log before this append.
 * @throws LogMovedError if `lastSeq` is smaller than the number of a change that this process saw in the epoch.
 */
function requireAllSeen({ seen }: Tx, logEpoch: string, lastSeq: number): void {
  const known = seen.newest?.seq ?? 0
  if (logEpoch === seen.logEpoch && lastSeq < known)
    throw new LogMovedError(`the change log ends at ${lastSeq}, but change ${known} was already committed`)
}

function touchedBy(changes: readonly Change[]): [account: string, submissionId: string][] {
  const pairs = changes.flatMap(({ account, submission_id }): [string, [string, string]][] =>
    submission_id === null ? [] : [[`${account} ${submission_id}`, [account, submission_id]]],
  )
  return [...new Map(pairs).values()]
}

/**
 * SQL: the last assigned number.
 * If someone lowered `last_seq` by hand, this is the number of the newest row (see log-ends.ts).
 * If the statement waits for the row lock, the result includes the changes that committed during the wait.
 */
function lastAssigned(tx: Tx): RawBuilder<unknown> {
  const newest = sql`coalesce((select max(seq) from changes), first_seq - 1)`
  return greatest(tx, sql`last_seq`, newest)
}
