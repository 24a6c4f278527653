import { earlierTime, msFromTime, type TimeText } from '../../model/time.ts'
import { FAILURES_TO_OPEN } from '../../push/contract/delivery.ts'
import type { EndedRun } from '../../store/reconcile/left.ts'
import { isNarrowed } from '../../store/reconcile/runs.ts'
import type { AccountHealth, DestinationHealth, Health, Pile } from '../../store/upkeep/health.ts'
import { shortTime } from '../output/text.ts'
import type { AlarmName } from './rules.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 24 * 60 * MINUTE_MS

/** From this age on something is older than it should be. The alarms fire later, at ages that need a person. */
export const lateAfterMs = { delivery: 30 * SECOND_MS, wake: MINUTE_MS, read: 5 * MINUTE_MS, push: 5 * MINUTE_MS } as const

/** Something that an alarm is about, and that holds. */
export interface Standing {
  readonly name: string
  /** '' for none; `destination` likewise. */
  readonly account: string
  readonly destination: string
  /** null where that is not known. */
  readonly since: TimeText | null
  readonly text: string
  readonly count: number
}

export type VerdictWord = 'complete' | 'catching_up' | 'attention'

/** What a matter is that needs a person. Part of the contract: `status --json` prints it. */
export type NeedKind =
  | 'account_stopped'
  | 'account_throttled'
  | 'identity_unknown'
  | 'destination_stopped'
  | 'destination_unanswered'
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
  /** The state of what is stopped, the name of an alarm, the id of a run, until when a pause lasts. */
  readonly name: string | null
  /** Why, in the words that the database keeps. */
  readonly reason: string | null
  /** Submissions that wait behind it. */
  readonly behind: number
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
 * The verdict on a mirror. `attention`: something holds that an alarm is about, something is dead or held, an account or destination is
 * stopped, the service asked for a long pause or does not say whose the credentials are, or a reconcile run was not clean. `catching_up`:
 * something is older than it should be, or a submission was never read to the end. Else `complete`.
 * @param standing see `standingConditions`.
 */
export function judge(health: Health, standing: readonly Standing[], expected: Expected): Judgement {
  const matters = mattersOf(health, standing, expected)
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

function mattersOf(health: Health, standing: readonly Standing[], expected: Expected): Matter[] {
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
    ...servedDestinations(health, expected).flatMap(outageMatter),
    // What is dead stays so in accounts and destinations, too, that the settings do not have any more.
    ...health.accounts.flatMap(({ account, dead }) => pile('dead_deliveries', dead, { account })),
    ...health.destinations.flatMap(changeMatters),
    ...accounts.flatMap(runMatter),
    ...accounts.flatMap(serviceMatters),
  ]
  const alarms = standing
    .filter((alarm) => !toldWhileTrue.has(alarm.name) && ![...stopped, ...others].some((each) => tells(each, alarm)))
    .map(({ account, destination, text, ...rest }) =>
      matter('alarm', { ...rest, account: account || null, destination: destination || null, reason: text }),
    )
  return [...stopped, ...alarms, ...others]
}

/** Alarms of which a matter tells the same. */
const alarmsOf: Partial<Record<NeedKind, readonly AlarmName[]>> = {
  account_stopped: ['account_stopped'],
  destination_stopped: ['destination_stopped'],
  destination_unanswered: ['push_late'],
  dead_deliveries: ['inbox_dead'],
  dead_changes: ['push_dead'],
  unknown_changes: ['push_unknown'],
  unmapped_submissions: ['push_unmapped'],
  run_not_clean: ['reconcile_failed', 'reconcile_findings'],
}

/** Alarms of which a matter tells for as long as it is true, whatever the settings are: one that still fires without is over. */
const toldWhileTrue: ReadonlySet<string> = new Set<AlarmName>(['inbox_dead', 'push_dead', 'push_unknown', 'push_unmapped'])

function tells({ kind, account, destination }: Matter, alarm: Standing): boolean {
  const isOf = (alarmsOf[kind] as readonly string[] | undefined)?.includes(alarm.name)
  return isOf === true && (account ?? '') === alarm.account && (destination ?? '') === alarm.destination
}

/** @returns what an outage of an active destination is; null while it answers, or has failed too seldom to be given a rest. */
export function outageText({ failures, retry_at }: Pick<DestinationHealth, 'failures' | 'retry_at'>): string | null {
  if (failures < FAILURES_TO_OPEN) return null
  const next = retry_at === null ? 'it is tried again by itself' : `the next attempt is made at ${shortTime(retry_at)} UTC by itself`
  return `${failures} attempts in a row got no useful answer; ${next}, or now after a resume`
}

function outageMatter(row: DestinationHealth): Matter[] {
  const { destination, state, oldestUnsentAt: since } = row
  const reason = state !== 'active' || since === null ? null : outageText(row)
  return reason === null ? [] : [matter('destination_unanswered', { destination, since, reason })]
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

/** What the service says to an account that is read. */
function serviceMatters({ account, state, pause, identityFault }: AccountHealth): Matter[] {
  if (state !== 'active') return []
  const { since = null, reason = null } = identityFault ?? {}
  return [
    ...(pause?.isLong ? [matter('account_throttled', { account, since: pause.since, name: pause.until, reason: pause.reason })] : []),
    ...(identityFault === null ? [] : [matter('identity_unknown', { account, since, reason })]),
  ]
}

function runMatter({ account, runs }: AccountHealth): Matter[] {
  const unsettled = runs.find((run, index) => !isClean(run) && !runs.slice(0, index).some((newer) => isClean(newer) && covers(newer, run)))
  if (unsettled === undefined) return []
  const { run_id, ended_at, note, left } = unsettled
  const count = left.differences
  return [matter('run_not_clean', { account, since: ended_at, name: run_id, count, reason: count > 0 ? null : note })]
}

/** One whose budget ended is clean as far as it came: the next run goes on with the oldest proof. */
function isClean({ state, left }: EndedRun): boolean {
  return state !== 'failed' && left.unreadable + left.differences === 0
}

/** Whether a run looked at everything that another one had looked at. */
function covers(newer: EndedRun, { options }: EndedRun): boolean {
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
  return { since: null, count: 1, account: null, destination: null, name: null, reason: null, behind: 0, ...about, kind }
}

function pile(kind: NeedKind, { count, oldestAt }: Pile, about: Partial<Matter>): Matter[] {
  return count > 0 ? [matter(kind, { ...about, count, since: oldestAt })] : []
}
