import { sql } from 'kysely'
import { mainReads } from '../../model/reads.ts'
import { earlierTime, type TimeText } from '../../model/time.ts'
import { logEnds } from '../changes/log-info.ts'
import { concurrentOnSqlite, eachConcurrentOnSqlite } from '../engine/concurrent-on-sqlite.ts'
import type { Query } from '../engine/db.ts'
import { PartReader, type UnreadPart } from '../engine/part-reader.ts'
import { COUNT_CAP, countCapped } from '../engine/sql.ts'
import { type FailingReads, failingReads, newestRead, stalestRead, type WebhookLoss, webhookLossOfDay } from '../operators/alarm-queries.ts'
import { type AlarmRow, evaluatedAt, listAlarms } from '../operators/alarms.ts'
import { oldestBehind, oldestReady } from '../operators/push-alarm-queries.ts'
import { type CountedDestination, countDestinations, type DestinationRow } from '../outbox/destinations.ts'
import { isIn } from '../outbox/queries.ts'
import { countBlockedStreams } from '../outbox/streams.ts'
import { lackingAt } from '../outbox/verifications.ts'
import { listAccounts } from '../reads/accounts.ts'
import { listPauses, type StoredPause } from '../reads/pauses.ts'
import { type EndedRun, withLeft } from '../reconcile/left.ts'
import { endedRuns } from '../reconcile/runs.ts'
import type { AccountsTable } from '../schema/reads.ts'
import type { Totals } from './cached-totals.ts'
import { inboxGauges, oldestDue, type Pile } from './gauges.ts'
import { listProcesses } from './processes.ts'

/**
 * Counting submissions that were never read stops at this number. The cached number is then used, if it is greater.
 */
const MOST_COUNTED = 1_000

type AccountColumn = 'account' | 'state' | 'reason' | 'since' | 'brokerage' | 'identity_error' | 'identity_failing_since'

export interface AccountReads {
  /** Earliest due time of a requested read (rank `live`); null if there is none. */
  readonly oldest_read_request_at: TimeText | null
  /** Earliest due time of a scheduled read (rank `routine`); null if there is none. */
  readonly oldest_read_due_at: TimeText | null
  readonly failing: FailingReads
  readonly newest_read_at: TimeText | null
  readonly stalest_read_at: TimeText | null
}

export interface AccountHealth extends AccountReads, Pick<AccountsTable, AccountColumn> {
  /** Number of submissions; null if they weren't counted yet. */
  readonly submissions: number | null
  /** Number of submissions that the service no longer shows. `never_read` leaves these out. */
  readonly unreachable: number | null
  /** Number of submissions whose feeds or requirements were never read to the end, up to `COUNT_CAP`. */
  readonly never_read: number
  readonly dead: Pile
  readonly loss: WebhookLoss
  /** The current pause that the service requested; null if there is none. */
  readonly pause: StoredPause | null
  /**
   * Ended runs, the newest first, without stopped runs. The list ends with the newest run that covered the whole
   * account, or after 100 runs.
   */
  readonly runs: readonly EndedRun[]
}

type DestinationColumn = 'destination' | 'state' | 'reason' | 'since' | 'failures' | 'retry_at' | 'filter_error' | 'filter_failed_at'

export interface DestinationHealth extends Pick<DestinationRow, DestinationColumn> {
  readonly dead: Pile
  readonly unknown: Pile
  readonly held: Pile
  readonly unmapped: Pile
  /** Changes that the destination lacks, according to its last answer. */
  readonly lacking: Pile
  /**
   * When the oldest unsent change was queued, or was made if it isn't queued yet. Leaves out changes of blocked
   * streams. Null if there is no such change.
   */
  readonly oldest_unsent_at: TimeText | null
}

/** The stored data from which `status` and the alarms conclude whether the program is healthy. */
export interface Health {
  readonly accounts: readonly AccountHealth[]
  readonly destinations: readonly DestinationHealth[]
  /** Deliveries of all accounts that wait to be applied. */
  readonly inbox: Pile
  readonly alarms: readonly AlarmRow[]
  /** When alarms were last evaluated; null if they never were. */
  readonly alarmsAt: TimeText | null
  readonly isServed: boolean
  /** The parts of this data that couldn't be read. */
  readonly unread: readonly UnreadPart[]
}

/**
 * Reads the data about health. Every query uses an index and has a limit, except counts of all submissions.
 * @param kept cached totals; null if there are none. If undefined, the submissions are counted now.
 * @param parts collects the names of parts that can't be read.
 * @throws TransientError if no part can be read.
 */
export async function readHealth(q: Query, kept?: Totals | null, parts = new PartReader(q.clock)): Promise<Health> {
  const [rows, pauses, lastSeq, named, alarms, alarmsAt, processes] = await concurrentOnSqlite(q, [
    () => parts.read('accounts', () => listAccounts(q), []),
    () => parts.read('pauses of accounts', () => listPauses(q), []),
    () => parts.read('the change log', async () => (await logEnds(q)).last_seq, 0),
    () => parts.read('destinations', () => countDestinations(q), []),
    () => parts.read('alarms', () => listAlarms(q), []),
    () => parts.read('the time of the last evaluation of alarms', () => evaluatedAt(q), null),
    () => parts.read('processes', () => listProcesses(q), null),
  ])
  parts.requireAny()
  const names = rows.map(({ account }) => account)
  const [gauges, accounts, destinations] = await concurrentOnSqlite(q, [
    () => parts.read('the inbox', () => inboxGauges(q, names), []),
    () =>
      eachConcurrentOnSqlite(q, rows, (row) => parts.read(`account ${row.account}`, () => accountHealth(q, row, kept), unreadAccount(row))),
    () =>
      eachConcurrentOnSqlite(q, named, (row) =>
        parts.read(`destination ${row.destination}`, () => destinationHealth(q, row, lastSeq), unreadDestination(row)),
      ),
  ])
  const pileOf = (state: 'ready' | 'dead', account: string | null): Pile =>
    gauges.find((gauge) => gauge.state === state && gauge.account === account) ?? NONE
  return {
    accounts: accounts.map((each) => ({
      ...each,
      dead: pileOf('dead', each.account),
      pause: pauses.find(({ account }) => account === each.account) ?? null,
    })),
    destinations,
    inbox: pileOf('ready', null),
    alarms: alarms.filter(({ state }) => state !== 'resolved'),
    alarmsAt,
    isServed: processes === null || processes.length > 0,
    unread: parts.unread,
  }
}

const NONE: Pile = { count: 0, oldest_at: null }

function unreadAccount(row: AccountsTable): Omit<AccountHealth, 'dead' | 'pause'> {
  return {
    ...row,
    submissions: null,
    unreachable: null,
    never_read: 0,
    oldest_read_request_at: null,
    oldest_read_due_at: null,
    failing: { once: 0, often: 0, long: 0 },
    newest_read_at: null,
    stalest_read_at: null,
    loss: { expected: 0, lost: 0, since: null },
    runs: [],
  }
}

function unreadDestination(row: CountedDestination): DestinationHealth {
  return { ...row, dead: NONE, unknown: NONE, held: NONE, unmapped: NONE, lacking: NONE, oldest_unsent_at: null }
}

async function accountHealth(
  q: Query,
  row: AccountsTable,
  kept: Totals | null | undefined,
): Promise<Omit<AccountHealth, 'dead' | 'pause'>> {
  const { account } = row
  const [reads, counted, loss, runs] = await concurrentOnSqlite(q, [
    () => accountReads(q, account),
    () => (kept === undefined ? countNow(q, account) : countKept(q, account, kept)),
    () => webhookLossOfDay(q, account),
    async () => eachConcurrentOnSqlite(q, await endedRuns(q, account), (run) => withLeft(q, run)),
  ])
  return { ...row, ...reads, ...counted, loss, runs }
}

export async function accountReads(q: Query, account: string): Promise<AccountReads> {
  const [due, failing, newest_read_at, stalest_read_at] = await concurrentOnSqlite(q, [
    () => oldestDue(q, account),
    () => failingReads(q, account),
    () => newestRead(q, account),
    () => stalestRead(q, account),
  ])
  return { oldest_read_request_at: due.live, oldest_read_due_at: due.routine, failing, newest_read_at, stalest_read_at }
}

type Counted = Pick<AccountHealth, 'submissions' | 'unreachable' | 'never_read'>

async function countNow(q: Query, account: string): Promise<Counted> {
  const row = await q.one(sql<{ submissions: number; unreachable: number }>`
    select count(*) as submissions, count(unreachable_since) as unreachable from submissions where account = ${account}`)
  return { submissions: 0, unreachable: 0, ...row, never_read: await countNeverRead(q, account) }
}

/**
 * Takes the counts from the cached totals, but counts the never-read submissions now. Few exist, except during the first
 * import.
 */
async function countKept(q: Query, account: string, kept: Totals | null): Promise<Counted> {
  const never = await countNeverRead(q, account, MOST_COUNTED)
  const { submissions = null, unreachable = null, never_read = 0 } = kept?.[account] ?? {}
  return { submissions, unreachable, never_read: never < MOST_COUNTED ? never : Math.max(never, never_read) }
}

/**
 * Counts submissions whose feeds or requirements were never read to the end, up to `cap`. Leaves out submissions that
 * the service no longer shows.
 */
export async function countNeverRead(q: Query, account: string, cap = COUNT_CAP): Promise<number> {
  const isShown = sql`not exists (select 1 from submissions s where s.account = r.account and s.submission_id = r.submission_id
    and s.unreachable_since is not null)`
  // Use a subquery for each kind of read. One query for all kinds couldn't use the index on `last_read_at`.
  const parts = mainReads.map(
    (read) => sql`select * from (select r.submission_id from sync_reads r
      where r.account = ${account} and r.read = ${sql.lit(read)} and r.last_read_at is null and ${isShown} limit ${sql.lit(cap)}) as ${sql.ref(read)}`,
  )
  return await countCapped(
    q,
    sql`(select distinct submission_id from (${sql.join(parts, sql` union all `)}) as each_kind) as never_read`,
    cap,
  )
}

/**
 * Reads the data about the health of one destination.
 * @param row from `countDestinations`.
 * @param lastSeq number of the newest change in the change log.
 */
export async function destinationHealth(q: Query, row: CountedDestination, lastSeq: number): Promise<DestinationHealth> {
  const { destination, cursor, queued, dead, unknown } = row
  const [blocked, lacking, unsent, behind] = await concurrentOnSqlite(q, [
    () => countBlockedStreams(q, destination),
    () => lackingAt(q, destination),
    async () => (queued === 0 ? null : await oldestReady(q, destination, null)),
    async () => (cursor < lastSeq ? await oldestBehind(q, cursor) : null),
  ])
  const pile = async (count: number, oldest: () => Promise<TimeText | null>) => ({ count, oldest_at: count === 0 ? null : await oldest() })
  return {
    ...row,
    dead: await pile(dead, () => oldestStopped(q, destination, 'dead')),
    unknown: await pile(unknown, () => oldestStopped(q, destination, 'unknown')),
    held: await pile(blocked.held, () => oldestReady(q, destination, 'held')),
    unmapped: await pile(blocked.unmapped, () => oldestReady(q, destination, 'unmapped')),
    lacking,
    oldest_unsent_at: earlierTime(unsent, behind),
  }
}

/** @returns when the oldest row in this state got the state; null if no row is in this state. */
async function oldestStopped(q: Query, destination: string, state: 'dead' | 'unknown'): Promise<TimeText | null> {
  const row = await q.one(sql<{ at: TimeText | null }>`
    select coalesce(o.settled_at, o.queued_at) as at from sync_outbox o
    where o.destination = ${destination} and ${isIn(state)}
    order by o.outbox_id limit 1`)
  return row?.at ?? null
}
