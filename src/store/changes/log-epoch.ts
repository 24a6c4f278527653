import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { wake } from '../engine/notify.ts'
import { dbTime } from '../engine/sql.ts'
import {
  type EpochReason,
  epochsOf,
  type Fork,
  findBreak,
  forkOf,
  type LogState,
  lateFork,
  readState,
  type TokenedLog,
} from './log-branch.ts'
import { repairEndsIn } from './log-ends.ts'
import { fingerprintsOf } from './log-fingerprint.ts'
import { hasInfo, infoOf, restoreInfo } from './log-info.ts'
import { COPY_ORIGIN, knownServer, learnServer, originOf, serverOf } from './log-origin.ts'
import { noteLostBranch } from './lost-branch.ts'
import { readMarkFile } from './mark-file.ts'

/**
 * A log epoch names one numbering of the change log. A database that took another's place (a restored backup, a promoted standby that lagged)
 * assigns numbers again, to other changes, so it must begin a new epoch: readers then see how far both have the same changes, and message
 * ids, made of epoch and number, stay unique. Numbers up to there keep their epoch.
 *
 * What tells such a database: its origin (log-origin.ts), and what is known of its log outside it: the memory of this process and on SQLite a file
 * beside the database (log-branch.ts). Until it has been checked, nothing appends to its log or sends from it (`requireServer`).
 */

/** One statement marks everything that waits to be sent, and it must finish: a start that timed out would time out every time. */
const UNLIMITED = { noTimeout: true } as const

export interface NewEpoch {
  readonly logEpoch: string
  /** The newest change before the epoch. */
  readonly afterSeq: number
  readonly reason: EpochReason
  /** The newest number that the lost branch is known to have assigned; null when it is known of none. */
  readonly knownSeq: number | null
}

const WHY: Readonly<Partial<Record<EpochReason, string>>> = {
  copy: 'this database is a copy that replaced another; ',
  server: 'the database runs on another server or timeline than before (a standby was promoted, or the server was restored); ',
  lost: 'the database lacks changes that were committed before (it was put back to an earlier state); ',
}

/** The message about it. */
export function newEpochText({ logEpoch, afterSeq, reason, knownSeq }: NewEpoch): string {
  const lost = knownSeq === null ? '' : ` ${knownSeq - afterSeq} changes up to ${knownSeq} were lost.`
  return `${WHY[reason] ?? ''}a new log epoch, ${logEpoch}, begins behind change ${afterSeq}: readers of the change log that were further start over.${lost} Everything is replayed (docker/runbook.md, "A lost branch")`
}

/** The epoch of a change. */
export interface EpochOfChange {
  readonly logEpoch: string
  /** When the epoch began after a restore; null when the numbering never started over. */
  readonly restoredAt: TimeText | null
  /** It is the newest, and what was lost before it is still being read again. */
  readonly isRecovering: boolean
}

/**
 * Checks, before a process applies anything and from time to time while it runs, whether this database took the place of another, and then
 * begins a new epoch. If somebody has deleted the row of `mirror_info`, it is recreated with a new epoch.
 * @returns the new epoch; null when the numbering continues.
 */
export async function checkLogEpoch(db: Db): Promise<NewEpoch | null> {
  await learnServer(db)
  const knownLogs = await knownLogsOf(db)
  if (await hasInfo(db.read)) {
    const state = await readState(db.read)
    if (await isSettled(db.read, state, knownLogs)) {
      await remember(db, state)
      return null
    }
  }
  const epoch = await db.write('log-epoch', (tx) => settle(tx, knownLogs), UNLIMITED)
  await remember(db, await readState(db.read))
  return epoch
}

async function settle(tx: Tx, knownLogs: readonly TokenedLog[]): Promise<NewEpoch | null> {
  await lockNamed(tx, 'log-epoch')
  await restoreInfo(tx)
  const state = await readState(tx)
  if (state.epochs.length === 0) {
    await insertEpoch(tx, { logEpoch: state.logEpoch, afterSeq: 0, reason: 'first', knownSeq: null })
    return null
  }
  const reason = await findBreak(tx, state, knownLogs)
  // Somebody has set a new epoch by hand.
  if (reason === 'command') return begin(tx, reason, knownLogs, state.logEpoch)
  if (reason !== null) return begin(tx, reason, knownLogs)
  await learnHome(tx, state)
  for (const known of knownLogs) {
    const fork = lateFork(state, known)
    if (fork !== null) await noteLostBranch(tx, state.logEpoch, fork)
  }
  return null
}

/** Begins a new epoch behind the newest change that both branches have. */
export async function beginLogEpoch(db: Db, reason: EpochReason): Promise<NewEpoch> {
  await learnServer(db)
  const knownLogs = await knownLogsOf(db)
  const work = async (tx: Tx): Promise<NewEpoch> => {
    await lockNamed(tx, 'log-epoch')
    const epochs = await tx.sql.selectFrom('sync_log_epochs').select('log_epoch').limit(1).execute()
    if (epochs.length === 0) await insertEpoch(tx, { logEpoch: (await infoOf(tx)).log_epoch, afterSeq: 0, reason: 'first', knownSeq: null })
    return begin(tx, reason, knownLogs)
  }
  return db.write('log-epoch', work, UNLIMITED)
}

/** Says that the log goes on in this database: it was copied here, and the one that it came from leaves it. */
export async function takeEpochHome(tx: Tx): Promise<void> {
  await tx.sql
    .updateTable('sync_log_epochs')
    .set({ origin: await originOf(tx), server: await serverOf(tx), instance: null })
    .execute()
}

/** Says that the log goes on in another database: should this one be used again, it begins another epoch. */
export async function leaveEpochHome(tx: Tx): Promise<void> {
  await tx.sql.updateTable('sync_log_epochs').set({ origin: COPY_ORIGIN }).execute()
}

/** @returns a function from a number to its epoch. */
export async function readEpochs(q: Query): Promise<(seq: number) => EpochOfChange> {
  const epochs = (await epochsOf(q)).map((row, index) => ({
    afterSeq: row.after_seq,
    epoch: {
      logEpoch: row.log_epoch,
      restoredAt: row.reason === 'first' ? null : row.began_at,
      isRecovering: index === 0 && row.replayed_at === null,
    },
  }))
  const oldest = epochs.at(-1)?.epoch ?? { logEpoch: (await infoOf(q)).log_epoch, restoredAt: null, isRecovering: false }
  return (seq) => epochs.find(({ afterSeq }) => seq > afterSeq)?.epoch ?? oldest
}

async function begin(tx: Tx, reason: EpochReason, knownLogs: readonly TokenedLog[], logEpoch: string = randomUUID()): Promise<NewEpoch> {
  // Fan-out reads the epochs and moves the cursors.
  await lockNamed(tx, 'fan-out')
  // What waits may have been sent since the backup. Where a duplicate would do harm, it is looked up or held for a person. This takes longest,
  // so it comes before locks that others wait for.
  await sql`update sync_outbox set uncertain = 1 where state = 'ready' and uncertain = 0`.execute(tx.sql)
  await repairEndsIn(tx)
  const state = await readState(tx)
  const fork = await forkOf(tx, state, knownLogs)
  await tx.sql.updateTable('mirror_info').set({ log_epoch: logEpoch }).where('id', '=', 1).execute()
  const epoch: NewEpoch = { logEpoch, afterSeq: fork?.afterSeq ?? state.lastSeq, reason, knownSeq: fork?.knownSeq ?? null }
  await adopt(tx, epoch, fork)
  return epoch
}

/** Moves everything that counts by numbers into the new epoch. */
async function adopt(tx: Tx, epoch: NewEpoch, fork: Fork | null): Promise<void> {
  await insertEpoch(tx, epoch)
  // A cursor behind the end would skip the changes that get those numbers now. Changes before the end may have been sent already.
  await sql`
    update sync_destinations set
      log_epoch = case when cursor >= ${epoch.afterSeq} and snapshot is null then ${epoch.logEpoch} else log_epoch end,
      cursor = case when cursor > ${epoch.afterSeq} then cast(${epoch.afterSeq} as bigint) else cursor end`.execute(tx.sql)
  // Nor is anything contained in what was sent as a whole row that gets its number only now.
  await sql`
    update sync_passed set through = cast(${epoch.afterSeq} as bigint),
      seq = case when seq > ${epoch.afterSeq} then cast(${epoch.afterSeq} as bigint) else seq end
    where through > ${epoch.afterSeq}`.execute(tx.sql)
  // The lost branch may have spent these refresh tokens, and a target that sees one again may end the access. A new login gets others.
  await tx.sql.deleteFrom('sync_push_tokens').execute()
  // Some may have been ended by a sign-out that is lost.
  await tx.sql.deleteFrom('sync_console_sessions').execute()
  if (fork !== null) await noteLostBranch(tx, epoch.logEpoch, fork)
  wake(tx, 'outbox')
}

async function insertEpoch(tx: Tx, { logEpoch, afterSeq, reason, knownSeq }: NewEpoch): Promise<void> {
  const epochNo = sql<number>`(select coalesce(max(epoch_no), 0) + 1 from sync_log_epochs)`
  const done = reason === 'first' ? dbTime(tx) : null
  const replays = { replays_at: done, replayed_at: done }
  const [origin, server] = [await originOf(tx), await serverOf(tx)]
  await tx.sql
    .insertInto('sync_log_epochs')
    .values({
      log_epoch: logEpoch,
      after_seq: afterSeq,
      began_at: dbTime(tx),
      origin,
      reason,
      epoch_no: epochNo,
      server,
      known_seq: knownSeq,
      instance: null,
      ...replays,
    })
    .execute()
}

/** Stores what could not be told before of the current epoch's server. */
async function learnHome(tx: Tx, state: LogState): Promise<void> {
  const current = state.epochs.find(({ log_epoch }) => log_epoch === state.logEpoch)
  const server = knownServer(current?.server ?? '', state.server)
  await tx.sql.updateTable('sync_log_epochs').set({ server }).where('log_epoch', '=', state.logEpoch).execute()
}

/** Whether the current epoch is known and complete, began in this very database, and has all that is known outside it. */
async function isSettled(q: Query, state: LogState, knownLogs: readonly TokenedLog[]): Promise<boolean> {
  const current = state.epochs.find(({ log_epoch }) => log_epoch === state.logEpoch)
  if (current === undefined || current.server !== knownServer(current.server, state.server)) return false
  if (knownLogs.some((known) => lateFork(state, known) !== null)) return false
  return (await findBreak(q, state, knownLogs)) === null
}

async function knownLogsOf(db: Db): Promise<TokenedLog[]> {
  const { logEpoch } = db.seen
  // As it is now: what commits while the database is read would seem to be missing there.
  const marks = [...db.seen.marks]
  const file = await readMarkFile(db.read)
  return [...(logEpoch === '' ? [] : [{ logEpoch, marks, tokens: null }]), ...(file === null ? [] : [file])]
}

/** The memory of this process continues with what the checked database has. */
async function remember(db: Db, { logEpoch, lastSeq, server }: LogState): Promise<void> {
  db.seen.settle(logEpoch, server)
  const fingerprint = (await fingerprintsOf(db.read, [lastSeq])).get(lastSeq)
  if (fingerprint !== undefined) db.seen.add(logEpoch, { seq: lastSeq, fingerprint, touched: [] })
}
