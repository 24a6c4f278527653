import { isOtherServer } from '../engine/checked-server.ts'
import type { Query } from '../engine/db.ts'
import type { KnownLog, LogMark } from '../engine/log-seen.ts'
import type { LogEpochsTable } from '../schema/log.ts'
import { lastAssignedSeq } from './log-ends.ts'
import { fingerprintsOf } from './log-fingerprint.ts'
import { infoOf } from './log-info.ts'
import { originOf, serverOf } from './log-origin.ts'

/**
 * Why a log epoch began.
 * - `first`: the first epoch of a mirror.
 * - `restore`: a backup was restored.
 * - `copy`: the database is a copy of the database that was used before.
 * - `server`: the server or timeline changed, for example because a standby was promoted.
 * - `lost`: committed changes are missing.
 * - `command`: an operator requested the epoch, or changed `mirror_info.log_epoch` by hand.
 */
export type EpochReason = 'first' | 'restore' | 'copy' | 'server' | 'lost' | 'command'

/** A change log as known outside the database: in this process's memory, or in the mark file of a SQLite database. */
export type TokenedLog = KnownLog & {
  /** Ids of the processes that may have written the mark file last (see `MarkFile`); null for a log in memory. */
  readonly tokens: readonly string[] | null
}

export interface LogState {
  readonly logEpoch: string
  readonly lastSeq: number
  /** Greatest cursor of all destinations; 0 if there are no destinations. */
  readonly furthest: number
  readonly origin: string
  readonly server: string
  /** All epochs, newest first. */
  readonly epochs: readonly LogEpochsTable[]
}

export async function readState(q: Query): Promise<LogState> {
  // Reads the cursors before `lastSeq`, because cursors and `lastSeq` may grow. If `lastSeq` were read first, a cursor
  // could seem to be after the last change.
  const { furthest } = await q.sql
    .selectFrom('sync_destinations')
    .select((eb) => eb.fn.max<number | null>('cursor').as('furthest'))
    .executeTakeFirstOrThrow()
  const lastSeq = await lastAssignedSeq(q)
  const { log_epoch } = await q.sql.selectFrom('mirror_info').select('log_epoch').where('id', '=', 1).executeTakeFirstOrThrow()
  return {
    logEpoch: log_epoch,
    lastSeq,
    furthest: furthest ?? 0,
    origin: await originOf(q),
    server: await serverOf(q),
    epochs: await epochsOf(q),
  }
}

/** All log epochs, newest first. */
export function epochsOf(q: Query): Promise<LogEpochsTable[]> {
  return q.sql.selectFrom('sync_log_epochs').selectAll().orderBy('epoch_no', 'desc').execute()
}

/** The permanent id of a mirror: its first log epoch. Copies and restored backups of the mirror have the same id. */
export async function firstEpochOf(q: Query): Promise<string> {
  const first = (await epochsOf(q)).at(-1)
  return first?.log_epoch ?? (await infoOf(q)).log_epoch
}

/**
 * Each log epoch except the first requires a full re-read of all feeds.
 * @returns the newest log epoch if its re-read is unfinished; otherwise null.
 */
export async function currentBreak(q: Query): Promise<LogEpochsTable | null> {
  const [newest] = await epochsOf(q)
  return newest !== undefined && newest.reason !== 'first' && newest.fully_read_at === null ? newest : null
}

/**
 * Checks if this database replaced another database.
 * @returns why a new epoch must begin; null if the numbering can continue.
 */
export async function findBreak(q: Query, state: LogState, knownLogs: readonly TokenedLog[]): Promise<EpochReason | null> {
  const current = state.epochs.find(({ log_epoch }) => log_epoch === state.logEpoch)
  if (current === undefined) return 'command'
  if (current.origin !== state.origin) return 'copy'
  if (isOtherServer(current.server, state.server)) return q.kind === 'postgres' ? 'server' : 'copy'
  for (const known of knownLogs) {
    const isKnown = state.epochs.some(({ log_epoch }) => log_epoch === known.logEpoch)
    if (!isKnown && known.marks.length > 0) return 'lost'
    if (known.logEpoch !== state.logEpoch) continue
    if ((await forkOf(q, state, [known])) !== null) return 'lost'
    if (current.instance !== null && known.tokens !== null && !known.tokens.includes(current.instance)) return 'copy'
  }
  return state.furthest > state.lastSeq ? 'copy' : null
}

/** Divergence of the database's change log from a log known outside the database. */
export interface Fork {
  /** Last number up to which both logs agree. */
  readonly afterSeq: number
  /** Newest number known outside the database. */
  readonly knownSeq: number
  /**
   * Marks (numbers with fingerprints) of the changes after `afterSeq` that are known outside the database. The database
   * lacks these changes.
   */
  readonly lost: readonly LogMark[]
}

/**
 * Compares the database's change log with known logs of the current epoch, and of epochs that the database lacks.
 * @returns null if the database has all known changes.
 */
export async function forkOf(q: Query, { logEpoch, lastSeq, epochs }: LogState, knownLogs: readonly KnownLog[]): Promise<Fork | null> {
  const marks = knownLogs
    .filter((known) => known.logEpoch === logEpoch || epochs.every(({ log_epoch }) => log_epoch !== known.logEpoch))
    .flatMap((known) => known.marks)
    .sort((a, b) => a.seq - b.seq)
  const newest = marks.at(-1)
  if (newest === undefined) return null
  const differing = await differingMarks(q, marks.slice(-1), lastSeq)
  if (differing.length === 0 && newest.seq <= lastSeq) return null
  const [first] = await differingMarks(q, marks, lastSeq)
  // If no mark differs, the database has only the beginning of the known log. Otherwise, both logs agree up to the mark
  // before the first differing mark. If no mark comes before the first differing mark, both logs agree up to
  // the number before the first differing mark.
  const agreed = first === undefined ? lastSeq : Math.max(0, ...marks.filter(({ seq }) => seq < first.seq).map(({ seq }) => seq))
  const afterSeq = first === undefined || agreed > 0 ? agreed : Math.max(0, first.seq - 1)
  return { afterSeq, knownSeq: newest.seq, lost: marks.filter(({ seq }) => seq > afterSeq) }
}

/** Marks (number and fingerprint of a change) whose number belongs to a different change in the database. */
async function differingMarks(q: Query, marks: readonly LogMark[], lastSeq: number): Promise<LogMark[]> {
  const within = marks.filter(({ seq }) => seq <= lastSeq)
  const found = await fingerprintsOf(
    q,
    within.map(({ seq }) => seq),
  )
  return within.filter(({ seq, fingerprint }) => (found.get(seq) ?? fingerprint) !== fingerprint)
}

/**
 * Finds known changes of an earlier epoch whose numbers are after the end of that epoch.
 * The process that began the next epoch didn't know these changes.
 * @returns null if there are no such changes.
 */
export function lateFork({ epochs }: LogState, known: KnownLog): Fork | null {
  const place = epochs.findIndex(({ log_epoch }) => log_epoch === known.logEpoch)
  const newest = known.marks.at(-1)
  if (place <= 0 || newest === undefined) return null
  const afterSeq = Math.min(...epochs.slice(0, place).map(({ after_seq }) => after_seq))
  if (newest.seq <= afterSeq) return null
  return { afterSeq, knownSeq: newest.seq, lost: known.marks.filter(({ seq }) => seq > afterSeq) }
}
