import { sql } from 'kysely'
import { mainReads } from '../../model/reads.ts'
import { earlierTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { gather } from '../engine/gather.ts'
import { PartReader, type UnreadPart } from '../engine/part-reader.ts'
import { COUNT_CAP } from '../engine/sql.ts'
import { failingReads, newestRead, stalestRead, type WebhookLoss, webhookLossOfDay } from '../operators/alarm-queries.ts'
import { type AlarmRow, evaluatedAt, listAlarms } from '../operators/alarms.ts'
import { oldestBehind, oldestBlocked, oldestSendable } from '../operators/push-alarm-queries.ts'
import { type CountedDestination, countDestinations, type DestinationRow } from '../outbox/destinations.ts'
import { countBlockedLanes } from '../outbox/lanes.ts'
import { isIn } from '../outbox/queries.ts'
import { lackingAt } from '../outbox/verifications.ts'
import { listAccounts } from '../reads/accounts.ts'
import { listPauses, type StoredPause } from '../reads/pauses.ts'
import { type EndedRun, withLeft } from '../reconcile/left.ts'
import { endedRuns } from '../reconcile/runs.ts'
import type { AccountsTable } from '../schema/reads.ts'
import { changeLogEnds, countCapped, inboxGauges, oldestDue } from './gauges.ts'
import type { Sums } from './kept-sums.ts'
import { listProcesses } from './processes.ts'

/** A read that has failed, or met a cursor that does not move, so often in a row is behind; once or twice is normal. */
const OFTEN = { failures: 5, stalledWalks: 5 }

/** Of more than these a request takes the number that was kept. */
const MOST_COUNTED = 1_000

/** How many there are, counted no further than `COUNT_CAP`, and since when the oldest is there. */
export interface Pile {
  readonly count: number
  readonly oldestAt: TimeText | null
}

/** What the verdict needs to know of one account. */
export interface AccountHealth extends Pick<AccountsTable, 'account' | 'state' | 'reason' | 'since' | 'brokerage'> {
  /** null: not counted yet. */
  readonly submissions: number | null
  /** Of which the service does not show any more; the counts below leave them out. */
  readonly unreachable: number | null
  /** Submissions of which one of the reads never came to its end, counted no further than `COUNT_CAP`. */
  readonly neverRead: number
  /** When the oldest read was due that a delivery or an operator woke. */
  readonly oldestWakeAt: TimeText | null
  /** When the oldest read was due that the timetable asks for. */
  readonly oldestReadDueAt: TimeText | null
  /** Reads that have failed several times in a row, of the 200 that are due first. */
  readonly failing: number
  readonly newestReadAt: TimeText | null
  readonly stalestReadAt: TimeText | null
  readonly dead: Pile
  /** Of the last day. */
  readonly loss: WebhookLoss
  /** Why the service does not say whose the credentials are, and since when. */
  readonly identityFault: { readonly reason: string; readonly since: TimeText | null } | null
  /** The pause in force that the service asked for. */
  readonly pause: StoredPause | null
  /** Ended runs, the newest first, up to the newest one that was about the whole account. */
  readonly runs: readonly EndedRun[]
}

/** What the verdict needs to know of one destination. */
export interface DestinationHealth extends Pick<DestinationRow, 'destination' | 'state' | 'reason' | 'since' | 'failures' | 'retry_at'> {
  readonly dead: Pile
  readonly unknown: Pile
  readonly held: Pile
  readonly unmapped: Pile
  /** Of what it took, by its own last answers. */
  readonly lacking: Pile
  /** When the oldest change was made or queued that could be sent. */
  readonly oldestUnsentAt: TimeText | null
}

/** Everything that the verdict is judged by, as the database has it. */
export interface Health {
  readonly accounts: readonly AccountHealth[]
  readonly destinations: readonly DestinationHealth[]
  /** Deliveries that wait to be applied, of all accounts. */
  readonly inbox: Pile
  /** Firing and pending alarms. */
  readonly alarms: readonly AlarmRow[]
  /** When all alarms were last evaluated; null: never. */
  readonly alarmsAt: TimeText | null
  /** Whether a process works on the database now. */
  readonly isServed: boolean
  /** Parts that could not be read: nothing is known of them. */
  readonly unread: readonly UnreadPart[]
}

/**
 * Reads it. Every query ends at an index and a limit, so that it may be asked every few seconds, but for the counts of submissions.
 * @param kept their counts as they were kept last, null when they never were; left out, they are counted now.
 * @throws TransientError when nothing can be read.
 */
export async function readHealth(q: Query, kept?: Sums | null, parts = new PartReader(q.clock)): Promise<Health> {
  const [rows, pauses, lastSeq, named, alarms, alarmsAt, processes] = await gather(q, [
    () => parts.read('accounts', () => listAccounts(q), []),
    () => parts.read('pauses of accounts', () => listPauses(q), []),
    () => parts.read('the change log', async () => (await changeLogEnds(q)).lastSeq, 0),
    () => parts.read('destinations', () => countDestinations(q), []),
    () => parts.read('alarms', () => listAlarms(q), []),
    () => parts.read('the time of the last evaluation of alarms', () => evaluatedAt(q), null),
    () => parts.read('processes', () => listProcesses(q), null),
  ])
  parts.requireAny()
  const names = rows.map(({ account }) => account)
  const [gauges, accounts, destinations] = await gather(q, [
    () => parts.read('the inbox', () => inboxGauges(q, names), []),
    () =>
      gather(
        q,
        rows.map((row) => async () => parts.read(`account ${row.account}`, () => accountHealth(q, row, kept), unreadAccount(row))),
      ),
    () =>
      gather(
        q,
        named.map(
          (row) => async () =>
            parts.read(`destination ${row.destination}`, () => destinationHealth(q, row, lastSeq), unreadDestination(row)),
        ),
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

const NONE: Pile = { count: 0, oldestAt: null }

/** An account of which only its row could be read. */
function unreadAccount(row: AccountsTable): Omit<AccountHealth, 'dead' | 'pause'> {
  return {
    ...row,
    submissions: null,
    unreachable: null,
    neverRead: 0,
    oldestWakeAt: null,
    oldestReadDueAt: null,
    failing: 0,
    newestReadAt: null,
    stalestReadAt: null,
    loss: { expected: 0, lost: 0, since: null },
    runs: [],
    identityFault: null,
  }
}

function unreadDestination(row: CountedDestination): DestinationHealth {
  return { ...row, dead: NONE, unknown: NONE, held: NONE, unmapped: NONE, lacking: NONE, oldestUnsentAt: null }
}

async function accountHealth(q: Query, row: AccountsTable, kept: Sums | null | undefined): Promise<Omit<AccountHealth, 'dead' | 'pause'>> {
  const { account, state, reason, since, brokerage, identity_error, identity_failing_since } = row
  const [due, counted, failing, newestReadAt, stalestReadAt, loss, runs] = await gather(q, [
    () => oldestDue(q, account),
    () => (kept === undefined ? countNow(q, account) : countKept(q, account, kept)),
    () => failingReads(q, account, OFTEN),
    () => newestRead(q, account),
    () => stalestRead(q, account),
    () => webhookLossOfDay(q, account),
    async () =>
      gather(
        q,
        (await endedRuns(q, account)).map((run) => () => withLeft(q, run)),
      ),
  ])
  return {
    account,
    state,
    reason,
    since,
    brokerage,
    ...counted,
    newestReadAt,
    stalestReadAt,
    loss,
    runs,
    oldestWakeAt: due.live,
    oldestReadDueAt: due.routine,
    failing: failing.longFailing,
    identityFault: identity_error === null ? null : { reason: identity_error, since: identity_failing_since },
  }
}

type Counted = Pick<AccountHealth, 'submissions' | 'unreachable' | 'neverRead'>

async function countNow(q: Query, account: string): Promise<Counted> {
  const count = async (where = sql``) => await countAll(q, sql`submissions where account = ${account} ${where}`)
  return {
    submissions: await count(),
    unreachable: await count(sql`and unreachable_since is not null`),
    neverRead: await countNeverRead(q, account),
  }
}

/** What was never read is counted now: few are, but in the first hours of a large mirror. */
async function countKept(q: Query, account: string, kept: Sums | null): Promise<Counted> {
  const never = await countNeverRead(q, account, MOST_COUNTED)
  const { submissions = null, unreachable = null, neverRead = 0 } = kept?.[account] ?? {}
  return { submissions, unreachable, neverRead: never < MOST_COUNTED ? never : Math.max(never, neverRead) }
}

async function countAll(q: Query, from: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${from}`.execute(q.sql)
  return rows[0]?.n ?? 0
}

/** Submissions that the service shows and of which one of the main reads never came to its end, counted up to `cap`. */
export async function countNeverRead(q: Query, account: string, cap = COUNT_CAP): Promise<number> {
  const isShown = sql`not exists (select 1 from submissions s where s.account = r.account and s.submission_id = r.submission_id
    and s.unreachable_since is not null)`
  // A kind of read at a time, so that each goes by the index of freshness.
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

async function destinationHealth(q: Query, row: CountedDestination, lastSeq: number): Promise<DestinationHealth> {
  const { destination, state, reason, since, failures, retry_at, cursor, queued, dead, unknown } = row
  const [blocked, lacking, unsent, behind] = await gather(q, [
    () => countBlockedLanes(q, destination),
    () => lackingAt(q, destination),
    async () => (queued === 0 ? null : await oldestSendable(q, destination)),
    async () => (cursor < lastSeq ? await oldestBehind(q, cursor) : null),
  ])
  const pile = async (count: number, oldest: () => Promise<TimeText | null>) => ({ count, oldestAt: count === 0 ? null : await oldest() })
  return {
    destination,
    state,
    reason,
    since,
    failures,
    retry_at,
    dead: await pile(dead, () => oldestStopped(q, destination, 'dead')),
    unknown: await pile(unknown, () => oldestStopped(q, destination, 'unknown')),
    held: await pile(blocked.held, () => oldestBlocked(q, destination, 'held')),
    unmapped: await pile(blocked.unmapped, () => oldestBlocked(q, destination, 'unmapped')),
    lacking,
    oldestUnsentAt: earlierTime(unsent, behind),
  }
}

/** When the first of those changes of a destination was given up that are still so. */
async function oldestStopped(q: Query, destination: string, state: 'dead' | 'unknown'): Promise<TimeText | null> {
  const { rows } = await sql<{ at: TimeText | null }>`
    select coalesce(o.settled_at, o.queued_at) as at from sync_outbox o
    where o.destination = ${destination} and ${isIn(state)}
    order by o.outbox_id limit 1`.execute(q.sql)
  return rows[0]?.at ?? null
}
