import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { lockNamed } from '../engine/locks.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, greatest } from '../engine/sql.ts'
import { requestRestatements } from '../outbox/restatements.ts'
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
} from './log-divergence.ts'
import { repairEndsIn } from './log-ends.ts'
import { fingerprintsOf } from './log-fingerprint.ts'
import { hasInfo, infoOf, restoreInfo } from './log-info.ts'
import { COPY_ORIGIN, identifyServer, knownServer, originOf, serverOf } from './log-origin.ts'
import { readMarkFile } from './mark-file.ts'

/**
 * A log epoch names one numbering of the change log.
 * A database that replaces another database must begin a new epoch. Examples: a restored backup, a promoted standby.
 * Without a new epoch, one number could name different changes in the two databases.
 * The new epoch shows readers up to which number the logs of both databases agree.
 * Message ids contain the epoch, so they stay unique.
 * `log-origin.ts` and `log-divergence.ts` detect a replaced database.
 * Until a database is checked, no process appends changes to it or sends pushes from it (see `requireServer`).
 */

/** Marking all waiting pushes may take long. With a time limit, each start of the program could fail. */
const UNLIMITED = { noTimeout: true } as const

export interface NewEpoch {
  readonly logEpoch: string
  /** Number of the last change before the epoch. */
  readonly afterSeq: number
  readonly reason: EpochReason
  /** Number of the newest change that is known to be lost; null if no lost change is known. */
  readonly knownSeq: number | null
}

const WHY: Readonly<Partial<Record<EpochReason, string>>> = {
  copy: 'this database is a copy that replaced another; ',
  server: 'the database runs on another server or timeline than before (a standby was promoted, or the server was restored); ',
  lost: 'the database lacks changes that were committed before (it was put back to an earlier state); ',
}

export function newEpochText({ logEpoch, afterSeq, reason, knownSeq }: NewEpoch): string {
  const lost = knownSeq === null ? '' : ` ${knownSeq - afterSeq} changes up to ${knownSeq} were lost.`
  return `${WHY[reason] ?? ''}a new log epoch, ${logEpoch}, begins after change ${afterSeq}: readers of the change log that were further start over.${lost} All feeds are read again (docker/warnings-data.md, "Log divergence")`
}

export interface EpochOfChange {
  readonly logEpoch: string
  /** When the epoch began; null for the first epoch. */
  readonly restoredAt: TimeText | null
  /** true for the newest epoch, while its full re-read of all feeds isn't finished. */
  readonly isRecovering: boolean
}

/**
 * Begins a new log epoch if this database replaced another database. Runs at start and with each heartbeat.
 * Recreates a deleted `mirror_info` row.
 * @returns the new epoch; null if the numbering continues.
 */
export async function checkLogEpoch(db: Db): Promise<NewEpoch | null> {
  await identifyServer(db)
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
  // An operator changed `mirror_info.log_epoch` by hand. The new epoch gets the changed value as its name.
  if (reason === 'command') return begin(tx, reason, knownLogs, state.logEpoch)
  if (reason !== null) return begin(tx, reason, knownLogs)
  await recordEpochOrigin(tx, state)
  for (const known of knownLogs) {
    const fork = lateFork(state, known)
    if (fork !== null) await recordLogDivergence(tx, state.logEpoch, fork)
  }
  return null
}

/**
 * Begins a new log epoch after the newest change of the database.
 * If this process's memory or the mark file has changes that the database lacks, the logs have diverged. The epoch then
 * begins after the last change on which both logs agree.
 */
export async function beginLogEpoch(db: Db, reason: EpochReason): Promise<NewEpoch> {
  await identifyServer(db)
  const knownLogs = await knownLogsOf(db)
  const work = async (tx: Tx): Promise<NewEpoch> => {
    await lockNamed(tx, 'log-epoch')
    const epochs = await tx.sql.selectFrom('sync_log_epochs').select('log_epoch').limit(1).execute()
    if (epochs.length === 0) await insertEpoch(tx, { logEpoch: (await infoOf(tx)).log_epoch, afterSeq: 0, reason: 'first', knownSeq: null })
    return begin(tx, reason, knownLogs)
  }
  return db.write('log-epoch', work, UNLIMITED)
}

/** Makes this database the owner of the change log, at the end of a copy. */
export async function adoptEpoch(tx: Tx): Promise<void> {
  await tx.run(sql`update sync_log_epochs set origin = ${await originOf(tx)}, server = ${await serverOf(tx)}, instance = null`)
}

/** Ends this database's ownership of the change log. The next `serve` on this database begins a new log epoch. */
export async function releaseEpoch(tx: Tx): Promise<void> {
  await tx.sql.updateTable('sync_log_epochs').set({ origin: COPY_ORIGIN }).execute()
}

/** @returns a function that finds the epoch of a change number. */
export async function readEpochs(q: Query): Promise<(seq: number) => EpochOfChange> {
  const epochs = (await epochsOf(q)).map((row, index) => ({
    afterSeq: row.after_seq,
    epoch: {
      logEpoch: row.log_epoch,
      restoredAt: row.reason === 'first' ? null : row.began_at,
      isRecovering: index === 0 && row.fully_read_at === null,
    },
  }))
  const oldest = epochs.at(-1)?.epoch ?? { logEpoch: (await infoOf(q)).log_epoch, restoredAt: null, isRecovering: false }
  return (seq) => epochs.find(({ afterSeq }) => seq > afterSeq)?.epoch ?? oldest
}

async function begin(tx: Tx, reason: EpochReason, knownLogs: readonly TokenedLog[], logEpoch: string = randomUUID()): Promise<NewEpoch> {
  await lockNamed(tx, 'fan-out')
  // The replaced database may already have sent the waiting pushes, so the pushes become `uncertain`. If a duplicate
  // would do harm, the sender looks up such a push at the destination, or holds the push.
  // This slow statement runs before this transaction takes locks that other transactions wait for.
  await tx.run(sql`update sync_outbox set uncertain = 1 where state = 'ready' and uncertain = 0`)
  await repairEndsIn(tx)
  const state = await readState(tx)
  const fork = await forkOf(tx, state, knownLogs)
  await tx.sql.updateTable('mirror_info').set({ log_epoch: logEpoch }).where('id', '=', 1).execute()
  const epoch: NewEpoch = { logEpoch, afterSeq: fork?.afterSeq ?? state.lastSeq, reason, knownSeq: fork?.knownSeq ?? null }
  await adopt(tx, epoch, fork)
  return epoch
}

async function adopt(tx: Tx, epoch: NewEpoch, fork: Fork | null): Promise<void> {
  await insertEpoch(tx, epoch)
  // If a destination's cursor is after `afterSeq`, moves the cursor back to `afterSeq`.
  // Otherwise, the destination would skip changes of the new epoch.
  // Destinations that had reached `afterSeq` continue in the new epoch.
  await tx.run(sql`
    update sync_destinations set
      log_epoch = case when cursor >= ${epoch.afterSeq} and snapshot is null then ${epoch.logEpoch} else log_epoch end,
      cursor = case when cursor > ${epoch.afterSeq} then cast(${epoch.afterSeq} as bigint) else cursor end`)
  // `through` is the newest change that the last sent full row contains. If `through` is after `afterSeq`, moves
  // `through` back. Otherwise, the destination would skip changes of the new epoch.
  await tx.run(sql`
    update sync_passed set through = cast(${epoch.afterSeq} as bigint),
      seq = case when seq > ${epoch.afterSeq} then cast(${epoch.afterSeq} as bigint) else seq end
    where through > ${epoch.afterSeq}`)
  // The replaced database may already have used these refresh tokens. A second use may revoke the access. The program
  // logs in again to get new tokens.
  await tx.sql.deleteFrom('sync_push_tokens').execute()
  // The database may lack recent sign-outs, so all console sessions end.
  await tx.sql.deleteFrom('sync_console_sessions').execute()
  if (fork !== null) await recordLogDivergence(tx, epoch.logEpoch, fork)
  wake(tx, 'outbox')
}

async function insertEpoch(tx: Tx, { logEpoch, afterSeq, reason, knownSeq }: NewEpoch): Promise<void> {
  const epochNo = sql<number>`(select coalesce(max(epoch_no), 0) + 1 from sync_log_epochs)`
  const done = reason === 'first' ? dbTime(tx) : null
  const reads = { full_reads_at: done, fully_read_at: done }
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
      ...reads,
    })
    .execute()
}

/** Adds parts of the server identity that were unknown when the epoch was stored. */
async function recordEpochOrigin(tx: Tx, state: LogState): Promise<void> {
  const current = state.epochs.find(({ log_epoch }) => log_epoch === state.logEpoch)
  const server = knownServer(current?.server ?? '', state.server)
  await tx.sql.updateTable('sync_log_epochs').set({ server }).where('log_epoch', '=', state.logEpoch).execute()
}

async function isSettled(q: Query, state: LogState, knownLogs: readonly TokenedLog[]): Promise<boolean> {
  const current = state.epochs.find(({ log_epoch }) => log_epoch === state.logEpoch)
  if (current === undefined || current.server !== knownServer(current.server, state.server)) return false
  if (knownLogs.some((known) => lateFork(state, known) !== null)) return false
  return (await findBreak(q, state, knownLogs)) === null
}

async function knownLogsOf(db: Db): Promise<TokenedLog[]> {
  const { logEpoch } = db.seen
  // Copies the marks, because the list grows with each commit. The caller compares the marks with a `lastSeq` that it
  // reads later. A mark added after that read would look like a lost change.
  const marks = [...db.seen.marks]
  const file = await readMarkFile(db.read)
  return [...(logEpoch === '' ? [] : [{ logEpoch, marks, tokens: null }]), ...(file === null ? [] : [file])]
}

async function remember(db: Db, { logEpoch, lastSeq, server }: LogState): Promise<void> {
  db.seen.settle(logEpoch, server)
  const fingerprint = (await fingerprintsOf(db.read, [lastSeq])).get(lastSeq)
  if (fingerprint !== undefined) db.seen.add(logEpoch, { seq: lastSeq, fingerprint, touched: [] })
}

/** Maximum submissions that the audit entry names. The entry also has the total count of submissions. */
const NAMED = 100

/**
 * Records lost changes in the epoch and in an audit entry.
 * Requests that all destinations get the current state of the affected submissions again.
 * @param logEpoch the epoch that began after the loss.
 */
async function recordLogDivergence(tx: Tx, logEpoch: string, { afterSeq, knownSeq, lost }: Fork): Promise<void> {
  await tx.run(sql`update sync_log_epochs set known_seq = ${greatest(tx, sql`coalesce(known_seq, 0)`, sql`cast(${knownSeq} as bigint)`)}
    where log_epoch = ${logEpoch}`)
  const touched = [...new Map(lost.flatMap((mark) => mark.touched).map((pair) => [pair.join(' '), pair])).values()]
  const detail = {
    log_epoch: logEpoch,
    after_seq: afterSeq,
    known_seq: knownSeq,
    submissions: touched.length,
    named: touched.slice(0, NAMED),
  }
  await tx.run(sql`
    insert into operator_actions (at, who, action, target, detail, outcome) values (${dbTime(tx)}, 'program', 'log.divergence', null,
    ${JSON.stringify(detail)}, 'done')`)
  const destinations = await tx.sql.selectFrom('sync_destinations').select('destination').execute()
  await requestRestatements(
    tx,
    destinations.flatMap(({ destination }) => touched.map(([account, submission_id]) => ({ destination, account, submission_id }))),
  )
}
