import { earlierTime, msFromTime, type TimeText } from '../../model/time.ts'
import { isNarrowed, type RunRow } from '../../store/reconcile/runs.ts'
import type { AccountHealth, DestinationHealth, Health, Pile } from '../../store/upkeep/health.ts'
import type { AlarmName } from '../alarms/rules.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 24 * 60 * MINUTE_MS

/** From this age on something is older than it should be. The alarms fire later, at ages that need a person. */
export const lateAfterMs = { delivery: 30 * SECOND_MS, wake: MINUTE_MS, read: 5 * MINUTE_MS, push: 5 * MINUTE_MS } as const

export type VerdictWord = 'complete' | 'catching_up' | 'attention'

/** What a matter is that needs a person. Part of the contract: `status --json` prints it. */
export type NeedKind =
  | 'account_stopped'
  | 'destination_stopped'
  | 'alarm'
  | 'dead_deliveries'
  | 'dead_changes'
  | 'unknown_changes'
  | 'held_submissions'
  | 'unmapped_submissions'
  | 'run_not_clean'

/** A matter that needs a person. */
export interface Matter {
  readonly kind: NeedKind
  readonly since: TimeText | null
  readonly count: number
  readonly account: string | null
  readonly destination: string | null
  /** The state of what is stopped, the name of an alarm, the id of a run. */
  readonly name: string | null
  /** Why, in the words that the database keeps. */
  readonly reason: string | null
  /** Submissions that wait behind it. */
  readonly behind: number
  /** Of an alarm: nothing of what it fires for is left, and it resolves by itself. */
  readonly isMended: boolean
}

/** Something that is not as fresh as it should be and gets so without a person. */
export interface Lateness {
  readonly kind: 'not_served' | 'never_read' | 'deliveries' | 'wakes' | 'reads' | 'failing' | 'stale' | 'pushes'
  /** The account or destination that it is about; null: all of them. */
  readonly of: string | null
  /** null where only the oldest is known. */
  readonly count: number | null
  readonly since: TimeText | null
}

/** What the mirror is judged to be, and why. */
export interface Judgement {
  readonly verdict: VerdictWord
  readonly matters: readonly Matter[]
  readonly late: readonly Lateness[]
  /** Since when it is so, as far as that is known: the oldest matter, or the oldest lateness. */
  readonly since: TimeText | null
}

/** By what the database is judged beside itself: the settings of whoever looks. */
export interface Expected {
  readonly nowMs: number
  /** Names of the settings. No account at all: somebody only looks into the database, and all that it knows counts. */
  readonly accounts: readonly string[]
  readonly destinations: readonly string[]
  /** The longest time between two reads of a submission (`POLL_DORMANT`). */
  readonly dormantMs: number
}

/**
 * The verdict on a mirror. `attention`: an alarm fires, something is dead or held, an account or destination is stopped, or a reconcile run
 * was not clean. `catching_up`: something is older than it should be, or a submission was never read to the end. Else `complete`.
 */
export function judge(health: Health, expected: Expected): Judgement {
  const matters = mattersOf(health, expected)
  const late = latenessOf(health, expected)
  const verdict = matters.length > 0 ? 'attention' : late.length > 0 ? 'catching_up' : 'complete'
  const reasons: readonly { readonly since: TimeText | null }[] = matters.length > 0 ? matters : late
  return { verdict, matters, late, since: reasons.reduce<TimeText | null>((oldest, { since }) => earlierTime(oldest, since), null) }
}

/** Accounts that are served by these settings. */
export function servedAccounts({ accounts }: Health, expected: Expected): AccountHealth[] {
  return accounts.filter(({ account }) => expected.accounts.length === 0 || expected.accounts.includes(account))
}

function servedDestinations({ destinations }: Health, { accounts, destinations: names }: Expected): DestinationHealth[] {
  return destinations.filter(({ destination }) => accounts.length === 0 || names.includes(destination))
}

function mattersOf(health: Health, expected: Expected): Matter[] {
  const accounts = servedAccounts(health, expected)
  const stopped = [
    ...accounts
      .filter(({ state }) => state !== 'active')
      .map(({ account, since, state, reason }) => matter('account_stopped', { account, since, name: state, reason })),
    ...servedDestinations(health, expected)
      .filter(({ state }) => state !== 'active')
      .map(({ destination, since, state, reason }) => matter('destination_stopped', { destination, since, name: state, reason })),
  ]
  const others = [
    // What is dead stays so in accounts and destinations, too, that the settings do not have any more.
    ...health.accounts.flatMap(({ account, dead }) => pile('dead_deliveries', dead, { account })),
    ...health.destinations.flatMap(changeMatters),
    ...accounts.flatMap(runMatter),
  ]
  const alarms = health.alarms
    .filter((alarm) => ![...stopped, ...others].some((each) => tells(each, alarm)))
    .map(({ name, account, destination, since, text }) => {
      const isMended = tellWhileLeft.has(name)
      return matter('alarm', {
        name,
        account: account || null,
        destination: destination || null,
        since,
        reason: isMended ? null : text,
        isMended,
      })
    })
  return [...stopped, ...alarms, ...others]
}

/** Alarms of which a matter tells the same. */
const alarmOf: Partial<Record<NeedKind, AlarmName>> = {
  account_stopped: 'account_stopped',
  destination_stopped: 'destination_stopped',
  dead_deliveries: 'inbox_dead',
  dead_changes: 'push_dead',
  unknown_changes: 'push_unknown',
  unmapped_submissions: 'push_unmapped',
  run_not_clean: 'reconcile_failed',
}

/** Alarms of which a matter tells for as long as anything is left, whatever the settings are: one that still fires without is mended. */
const tellWhileLeft: ReadonlySet<string> = new Set<AlarmName>(['inbox_dead', 'push_dead', 'push_unknown', 'push_unmapped'])

function tells({ kind, account, destination }: Matter, alarm: Health['alarms'][number]): boolean {
  return alarmOf[kind] === alarm.name && (account ?? '') === alarm.account && (destination ?? '') === alarm.destination
}

function changeMatters({ destination, dead, unknown, held, unmapped }: DestinationHealth): Matter[] {
  const stopped = [
    ...pile('dead_changes', dead, { destination, behind: held.count }),
    ...pile('unknown_changes', unknown, { destination, behind: dead.count > 0 ? 0 : held.count }),
  ]
  // Whatever holds them is told already, with their number.
  const waiting = stopped.length > 0 ? [] : pile('held_submissions', held, { destination })
  return [...stopped, ...waiting, ...pile('unmapped_submissions', unmapped, { destination })]
}

function runMatter({ account, runs }: AccountHealth): Matter[] {
  const unsettled = runs.find((run, index) => !isClean(run) && !runs.slice(0, index).some((newer) => isClean(newer) && covers(newer, run)))
  if (unsettled === undefined) return []
  const { run_id, ended_at, note } = unsettled
  const left = leftBy(unsettled)
  return [matter('run_not_clean', { account, since: ended_at, name: run_id, count: left, reason: left > 0 ? null : note })]
}

/** Differences that a run found and left. */
export function leftBy(run: RunRow): number {
  return Math.max(0, run.missing + run.different + run.absent + run.undelivered + run.lost - run.repaired)
}

/** One whose budget ended is clean as far as it came: the next run goes on with the oldest proof. */
function isClean(run: RunRow): boolean {
  return run.state !== 'failed' && run.exit_code !== 1 && run.unreadable === 0 && leftBy(run) === 0
}

/** Whether a run looked at everything that another one had looked at. */
function covers(newer: RunRow, { options }: RunRow): boolean {
  if (newer.state === 'budget') return false
  if (newer.options.no_state === true && options.no_state !== true) return false
  if (!isNarrowed(newer.options)) return true
  const { submissions, since, active_only } = newer.options
  if (since !== undefined || active_only === true) return false
  return options.submissions?.every((id) => submissions?.includes(id)) ?? false
}

function latenessOf(health: Health, expected: Expected): Lateness[] {
  const known = new Set(health.accounts.map(({ account }) => account))
  const never = expected.accounts.filter((account) => !known.has(account))
  const isEmpty = expected.accounts.length === 0 && health.accounts.length === 0
  const { count, oldestAt } = health.inbox
  return [
    ...never.map((of) => late('not_served', of)),
    ...(isEmpty ? [late('not_served', null)] : []),
    ...servedAccounts(health, expected).flatMap((account) => accountLateness(account, expected)),
    ...(isOld(oldestAt, lateAfterMs.delivery, expected) ? [late('deliveries', null, oldestAt, count)] : []),
    ...servedDestinations(health, expected)
      .filter(({ oldestUnsentAt }) => isOld(oldestUnsentAt, lateAfterMs.push, expected))
      .map(({ destination, oldestUnsentAt }) => late('pushes', destination, oldestUnsentAt)),
  ]
}

function accountLateness(a: AccountHealth, expected: Expected): Lateness[] {
  const { account: of } = a
  // The service is asked first whose credentials these are.
  const isUnanswered = a.brokerage === null && a.newestReadAt === null && a.neverRead === 0
  return [
    ...(isUnanswered ? [late('not_served', of)] : []),
    ...(a.neverRead > 0 ? [late('never_read', of, null, a.neverRead)] : []),
    ...(isOld(a.oldestWakeAt, lateAfterMs.wake, expected) ? [late('wakes', of, a.oldestWakeAt)] : []),
    ...(isOld(a.oldestReadDueAt, lateAfterMs.read, expected) ? [late('reads', of, a.oldestReadDueAt)] : []),
    ...(a.failing > 0 ? [late('failing', of, null, a.failing)] : []),
    ...(isOld(a.stalestReadAt, expected.dormantMs + DAY_MS, expected) ? [late('stale', of, a.stalestReadAt)] : []),
  ]
}

/** @returns whether a moment is so long ago. */
function isOld(at: TimeText | null, ageMs: number, { nowMs }: Expected): boolean {
  return at !== null && nowMs - msFromTime(at) > ageMs
}

function late(kind: Lateness['kind'], of: string | null, since: TimeText | null = null, count: number | null = null): Lateness {
  return { kind, of, since, count }
}

function matter(kind: NeedKind, about: Partial<Matter>): Matter {
  return { since: null, count: 1, account: null, destination: null, name: null, reason: null, behind: 0, isMended: false, ...about, kind }
}

function pile(kind: NeedKind, { count, oldestAt }: Pile, about: Partial<Matter>): Matter[] {
  return count > 0 ? [matter(kind, { ...about, count, since: oldestAt })] : []
}
