import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'
import { lastAssignedSeq, repairEndsIn } from './log-ends.ts'

/**
 * A log epoch names one numbering of the change log. A restored backup assigns numbers again, to other changes, so it must begin a new epoch:
 * readers then start over, and message ids, made of epoch and number, stay unique. Numbers up to the restored one keep their epoch.
 */

/** Values of `sync_log_epochs.home` on SQLite: a database in use, and a backup until it is restored. */
const SQLITE_HOME = 'here'
export const COPY_HOME = 'copy'

/** One statement marks everything that waits to be sent, and it must finish: a start that timed out would time out every time. */
const UNLIMITED = { noTimeout: true } as const

/** Why an epoch began. `copy`: the database is a copy of the one that was used before. */
export type EpochReason = 'first' | 'restore' | 'copy' | 'command'

export interface NewEpoch {
  readonly logEpoch: string
  /** The newest change before the epoch. */
  readonly afterSeq: number
  readonly reason: EpochReason
}

/** The message about it. */
export function newEpochText({ logEpoch, afterSeq, reason }: NewEpoch): string {
  const why = reason === 'copy' ? 'this database is a copy that replaced another; ' : ''
  return `${why}a new log epoch, ${logEpoch}, begins behind change ${afterSeq}: readers of the change log start over`
}

/** The epoch of a change. */
export interface EpochOfChange {
  readonly logEpoch: string
  /** When the epoch began after a restore; null when the numbering never started over. */
  readonly restoredAt: TimeText | null
}

/**
 * Checks, before a process applies anything and from time to time while it runs, whether this database is a copy that replaced another, and
 * then begins a new epoch. If somebody has deleted the row of `mirror_info`, it is recreated with a new epoch.
 * @returns the new epoch; null when the numbering continues.
 */
export async function checkLogEpoch(db: Db): Promise<NewEpoch | null> {
  if ((await hasInfo(db.read)) && (await isSettled(db.read))) return null
  return db.write('log-epoch', settle, UNLIMITED)
}

async function settle(tx: Tx): Promise<NewEpoch | null> {
  await lockNamed(tx, 'log-epoch')
  await restoreInfo(tx)
  if (await isSettled(tx)) return null
  const epochs = await tx.sql.selectFrom('sync_log_epochs').select('log_epoch').execute()
  const { log_epoch } = await infoOf(tx)
  if (epochs.length === 0) {
    await insertEpoch(tx, { logEpoch: log_epoch, afterSeq: 0, reason: 'first' })
    return null
  }
  // Somebody has set a new epoch by hand.
  if (epochs.every((epoch) => epoch.log_epoch !== log_epoch)) return begin(tx, 'command', log_epoch)
  return begin(tx, 'copy')
}

/** Begins a new epoch behind the newest change. */
export function beginLogEpoch(db: Db, reason: EpochReason): Promise<NewEpoch> {
  const work = async (tx: Tx): Promise<NewEpoch> => {
    await lockNamed(tx, 'log-epoch')
    const epochs = await tx.sql.selectFrom('sync_log_epochs').select('log_epoch').limit(1).execute()
    if (epochs.length === 0) await insertEpoch(tx, { logEpoch: (await infoOf(tx)).log_epoch, afterSeq: 0, reason: 'first' })
    return begin(tx, reason)
  }
  return db.write('log-epoch', work, UNLIMITED)
}

/** Says that the log goes on in this database: it was copied here, and the one that it came from leaves it. */
export async function takeEpochHome(tx: Tx): Promise<void> {
  await tx.sql
    .updateTable('sync_log_epochs')
    .set({ home: await homeOf(tx) })
    .execute()
}

/** Says that the log goes on in another database: should this one be used again, it begins another epoch. */
export async function leaveEpochHome(tx: Tx): Promise<void> {
  await tx.sql.updateTable('sync_log_epochs').set({ home: COPY_HOME }).execute()
}

/** @returns a function from a number to its epoch. */
export async function readEpochs(q: Query): Promise<(seq: number) => EpochOfChange> {
  const rows = await q.sql
    .selectFrom('sync_log_epochs')
    .select(['log_epoch', 'after_seq', 'began_at', 'reason'])
    .orderBy('after_seq', 'desc')
    .orderBy('began_at', 'desc')
    .execute()
  const epochs = rows.map((row) => ({
    afterSeq: row.after_seq,
    epoch: { logEpoch: row.log_epoch, restoredAt: row.reason === 'first' ? null : row.began_at },
  }))
  const oldest = epochs.at(-1)?.epoch ?? { logEpoch: (await infoOf(q)).log_epoch, restoredAt: null }
  return (seq) => epochs.find(({ afterSeq }) => seq > afterSeq)?.epoch ?? oldest
}

async function begin(tx: Tx, reason: EpochReason, logEpoch: string = randomUUID()): Promise<NewEpoch> {
  // Fan-out reads the epochs and moves the cursors.
  await lockNamed(tx, 'fan-out')
  // What waits may have been sent since the backup. Where a duplicate would do harm, it is looked up or held for a person. This takes longest,
  // so it comes before locks that others wait for.
  await sql`update sync_outbox set uncertain = 1 where state = 'ready' and uncertain = 0`.execute(tx.sql)
  await repairEndsIn(tx)
  const { last_seq } = await tx.sql
    .updateTable('mirror_info')
    .set({ log_epoch: logEpoch })
    .where('id', '=', 1)
    .returning('last_seq')
    .executeTakeFirstOrThrow()
  const epoch: NewEpoch = { logEpoch, afterSeq: last_seq, reason }
  await adopt(tx, epoch)
  return epoch
}

/** Moves everything that counts by numbers into the new epoch. */
async function adopt(tx: Tx, epoch: NewEpoch): Promise<void> {
  await insertEpoch(tx, epoch)
  // A cursor behind the end would skip the changes that get those numbers now. Changes before the end may have been sent already.
  await sql`
    update sync_destinations set
      log_epoch = case when cursor >= ${epoch.afterSeq} and snapshot is null then ${epoch.logEpoch} else log_epoch end,
      cursor = case when cursor > ${epoch.afterSeq} then cast(${epoch.afterSeq} as bigint) else cursor end`.execute(tx.sql)
  wake(tx, 'outbox')
}

async function insertEpoch(tx: Tx, { logEpoch, afterSeq, reason }: NewEpoch): Promise<void> {
  await tx.sql
    .insertInto('sync_log_epochs')
    .values({ log_epoch: logEpoch, after_seq: afterSeq, began_at: dbTime(tx), home: await homeOf(tx), reason })
    .execute()
}

/** Whether the current epoch is known, began in this very database, and no destination has seen numbers beyond the end. */
async function isSettled(q: Query): Promise<boolean> {
  // Read before the end of the log, which moves on meanwhile.
  const { furthest } = await q.sql
    .selectFrom('sync_destinations')
    .select((eb) => eb.fn.max<number | null>('cursor').as('furthest'))
    .executeTakeFirstOrThrow()
  const last = await lastAssignedSeq(q)
  const { log_epoch } = await infoOf(q)
  const row = await q.sql.selectFrom('sync_log_epochs').select('home').where('log_epoch', '=', log_epoch).executeTakeFirst()
  return row !== undefined && row.home === (await homeOf(q)) && (furthest ?? 0) <= last
}

/** Identifies the database; a copy differs. A restored Postgres table gets a new oid; on SQLite `backup` marks the copy. */
async function homeOf(q: Query): Promise<string> {
  if (q.kind === 'sqlite') return SQLITE_HOME
  const { rows } = await sql<{ home: string }>`select 'mirror_info'::regclass::oid::text as home`.execute(q.sql)
  return rows[0]?.home ?? ''
}

/** Whether the row of `mirror_info` exists. */
export async function hasInfo(q: Query): Promise<boolean> {
  return (await q.sql.selectFrom('mirror_info').select('id').executeTakeFirst()) !== undefined
}

/** Recreates a missing row of `mirror_info`. Its end lies behind all that was ever seen, so that no number is assigned twice. */
async function restoreInfo(tx: Tx): Promise<void> {
  await sql`
    insert into mirror_info (id, schema_version, log_epoch, first_seq, last_seq)
    select 1, version, ${randomUUID()}, coalesce(oldest, newest + 1), newest from (
      select (select max(version) from sync_migrations) as version, (select min(seq) from changes) as oldest,
        coalesce((select max(seq) from (select max(seq) as seq from changes union all select max(cursor) from sync_destinations) as seen), 0) as newest
    ) as known where 1 = 1 on conflict (id) do nothing`.execute(tx.sql)
}

function infoOf(q: Query): Promise<{ log_epoch: string; last_seq: number }> {
  return q.sql.selectFrom('mirror_info').select(['log_epoch', 'last_seq']).where('id', '=', 1).executeTakeFirstOrThrow()
}
