import { isOtherServer } from '../engine/checked-server.ts'
import type { Query } from '../engine/db.ts'
import type { KnownLog, LogMark } from '../engine/log-seen.ts'
import type { LogEpochsTable } from '../schema/log.ts'
import { lastAssignedSeq } from './log-ends.ts'
import { fingerprintsOf } from './log-fingerprint.ts'
import { infoOf } from './log-info.ts'
import { originOf, serverOf } from './log-origin.ts'

/**
 * `copy`: the database is a copy of the one used before. `server`: it is on another server or timeline (a promoted standby, a restored server).
 * `lost`: it lacks changes that were committed. `command`: an operator requested the epoch, or set `mirror_info` by hand.
 */
export type EpochReason = 'first' | 'restore' | 'copy' | 'server' | 'lost' | 'command'

/** What is known of the log outside the database: the memory of this process, or the file next to a SQLite database. */
export type TokenedLog = KnownLog & {
  /** Tokens of the process that wrote last; null when there is nothing to compare. See `mark-file.ts`. */
  readonly tokens: readonly string[] | null
}

/** The state of the log in the database. */
export interface LogState {
  readonly logEpoch: string
  readonly lastSeq: number
  /** The furthest cursor of a destination. */
  readonly furthest: number
  readonly origin: string
  readonly server: string
  /** Newest first. */
  readonly epochs: readonly LogEpochsTable[]
}

export async function readState(q: Query): Promise<LogState> {
  // Read before the end of the log, which may move on.
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

/** All epochs, newest first. */
export function epochsOf(q: Query): Promise<LogEpochsTable[]> {
  return q.sql.selectFrom('sync_log_epochs').selectAll().orderBy('epoch_no', 'desc').execute()
}

/** The permanent id of a mirror: its first epoch, which its copies and restored backups share. */
export async function firstEpochOf(q: Query): Promise<string> {
  const first = (await epochsOf(q)).at(-1)
  return first?.log_epoch ?? (await infoOf(q)).log_epoch
}

/** The newest epoch, if it followed a break and the feeds were not all re-read since; else null. */
export async function currentBreak(q: Query): Promise<LogEpochsTable | null> {
  const [newest] = await epochsOf(q)
  return newest !== undefined && newest.reason !== 'first' && newest.fully_read_at === null ? newest : null
}

/** @returns why the numbering cannot continue; null when it can. */
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

/** Where the log of the database diverges from the one known outside it. */
export interface Fork {
  /** The last number that both logs have in common. */
  readonly afterSeq: number
  /** The newest number known outside the database. */
  readonly knownSeq: number
  /** The changes known after `afterSeq`. */
  readonly lost: readonly LogMark[]
}

/** Compares the log with what is known of its current epoch, or of one that the database does not have. Null when it has all of it. */
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
  // A lagging copy is the beginning of the other log. Where both continued, the last common change comes before the first that differs.
  const agreed = first === undefined ? lastSeq : Math.max(0, ...marks.filter(({ seq }) => seq < first.seq).map(({ seq }) => seq))
  const afterSeq = first === undefined || agreed > 0 ? agreed : Math.max(0, first.seq - 1)
  return { afterSeq, knownSeq: newest.seq, lost: marks.filter(({ seq }) => seq > afterSeq) }
}

/** Marks for whose numbers the database has other changes. */
async function differingMarks(q: Query, marks: readonly LogMark[], lastSeq: number): Promise<LogMark[]> {
  const within = marks.filter(({ seq }) => seq <= lastSeq)
  const found = await fingerprintsOf(
    q,
    within.map(({ seq }) => seq),
  )
  return within.filter(({ seq, fingerprint }) => (found.get(seq) ?? fingerprint) !== fingerprint)
}

/** What is known of an earlier epoch after its end: another process began the next epoch without knowing of it. */
export function lateFork({ epochs }: LogState, known: KnownLog): Fork | null {
  const place = epochs.findIndex(({ log_epoch }) => log_epoch === known.logEpoch)
  const newest = known.marks.at(-1)
  if (place <= 0 || newest === undefined) return null
  const afterSeq = Math.min(...epochs.slice(0, place).map(({ after_seq }) => after_seq))
  if (newest.seq <= afterSeq) return null
  return { afterSeq, knownSeq: newest.seq, lost: known.marks.filter(({ seq }) => seq > afterSeq) }
}
