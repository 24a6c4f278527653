import type { TimeText } from '../../model/time.ts'
import { FAILURES_TO_OPEN } from '../../push/contract/delivery.ts'
import type { WebhookLoss } from '../../store/operators/alarm-queries.ts'
import type { EndedRun } from '../../store/reconcile/left.ts'
import { isNarrowed } from '../../store/reconcile/runs.ts'
import type { AccountHealth, DestinationHealth, Health, Pile } from '../../store/upkeep/health.ts'
import { ago, pluralize, shortTime } from '../output/text.ts'
import { type MatterFacts, type NeedKind, needKinds } from './need-kinds.ts'
import type { AlarmName } from './rules.ts'

/** Fewer records a day without a webhook, or a smaller share of all, are normal for a network. */
export const lossFrom = { records: 10, share: 0.1 } as const

/** When changes for a destination that takes them wait too long. */
export const pushLate = {
  fromMs: 15 * 60_000,
  text: (destination: string, oldest: TimeText | null, nowMs: number) =>
    `the oldest change for destination ${destination} has waited for ${ago(oldest, nowMs)}`,
}

/** A destination whose `filter` fails. @param error on which change, and why. */
export function filterFailure(destination: string, error: string): string {
  return `the filter of destination ${destination} fails, so its changes wait (${error})`
}

/** Records that contradict what was kept, and items that could not be understood: told of for so long after they came. */
export const evidence = {
  forMs: 24 * 3_600_000,
  conflicts: (account: string, n: number) =>
    `${pluralize(n, 'record')} of account ${account} changed within a day though records must not; both versions are in \`sync_conflicts\``,
  unreadable: (account: string, n: number) =>
    `${pluralize(n, 'item')} of account ${account} could not be understood within a day (kept in \`sync_unreadable\`)`,
}

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

/** A matter that needs a person. */
export interface Matter extends MatterFacts {
  readonly kind: NeedKind
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

/** Accounts that are served by these settings. */
export function servedAccounts({ accounts }: Health, expected: Expected): AccountHealth[] {
  return accounts.filter(({ account }) => expected.accounts.length === 0 || expected.accounts.includes(account))
}

export function servedDestinations({ destinations }: Health, { accounts, destinations: names }: Expected): DestinationHealth[] {
  return destinations.filter(({ destination }) => accounts.length === 0 || names.includes(destination))
}

/** Everything that needs a person. @param standing see `standingConditions`. */
export function mattersOf(health: Health, standing: readonly Standing[], expected: Expected): Matter[] {
  const accounts = servedAccounts(health, expected)
  const stopped = [...accounts.flatMap(accountStopped), ...servedDestinations(health, expected).flatMap(destinationStopped)]
  const others = [
    ...servedDestinations(health, expected).flatMap(outageMatter),
    ...servedDestinations(health, expected).flatMap(({ destination, lacking }) => pile('lacking_changes', lacking, { destination })),
    // What is dead stays so in accounts and destinations, too, that the settings do not have any more.
    ...health.accounts.flatMap(({ account, dead }) => pile('dead_deliveries', dead, { account })),
    ...health.destinations.flatMap(changeMatters),
    ...accounts.flatMap(runMatter),
    ...accounts.flatMap(serviceMatters),
    ...accounts.flatMap(({ account, loss }) => webhooksLost(account, loss)),
  ].map((each) => ({ ...each, since: each.since ?? standing.find((alarm) => tells(each, alarm))?.since ?? null }))
  const alarms = standing
    .filter((alarm) => !toldWhileTrue.has(alarm.name) && ![...stopped, ...others].some((each) => tells(each, alarm)))
    .map(({ account, destination, text, ...rest }) =>
      matter('alarm', { ...rest, account: account || null, destination: destination || null, reason: text }),
    )
  return [...stopped, ...alarms, ...others]
}

/** Alarms of which a matter tells for as long as it is true, whatever the settings are: one that still fires without is over. */
const toldWhileTrue: ReadonlySet<string> = new Set<AlarmName>([
  'inbox_dead',
  'push_dead',
  'push_unknown',
  'push_unmapped',
  'destination_lacks',
])

function tells({ kind, account, destination }: Matter, alarm: Standing): boolean {
  const isOf = (needKinds[kind].alarms as readonly string[] | undefined)?.includes(alarm.name)
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

/** An account that reads nothing. */
export function accountStopped({ account, state, reason, since }: Pick<AccountHealth, 'account' | 'state' | 'reason' | 'since'>): Matter[] {
  return state === 'active' ? [] : [matter('account_stopped', { account, since, name: state, reason })]
}

/** A destination that is sent nothing. */
export function destinationStopped(row: Pick<DestinationHealth, 'destination' | 'state' | 'reason' | 'since' | 'retry_at'>): Matter[] {
  const { destination, state, reason, since, retry_at: retryAt } = row
  const next = retryAt === null ? 'nothing is sent until you resume it' : 'it is tried again automatically'
  const shown = state === 'suspended' ? `${reason ?? 'no reason is known'}; ${next}` : reason
  return state === 'active' ? [] : [matter('destination_stopped', { destination, since, name: state, reason: shown })]
}

/** The share of lost webhooks; 0 while they are few. */
export function lostShare({ expected, lost }: WebhookLoss): number {
  return lost < lossFrom.records ? 0 : Math.min(1, lost / expected)
}

/** Webhooks that many records of the last day had to do without. */
export function webhooksLost(account: string, loss: WebhookLoss): Matter[] {
  const share = lostShare(loss)
  if (share < lossFrom.share) return []
  const reason =
    `that is ${Math.round(share * 100)} %, and reading found them; check in the portal whether the endpoint has a filter, and what its log of ` +
    'attempts says'
  return [matter('webhooks_lost', { account, since: loss.since, count: loss.lost, name: pluralize(loss.expected, 'record'), reason })]
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
  return unsettled === undefined ? [] : [runLeft(account, unsettled)]
}

/** What a run that was not clean left, or that it could not check everything. */
export function runLeft(account: string, { run_id, ended_at, note, unreadable, left: { differences: count } }: EndedRun): Matter {
  const reason = count > 0 ? null : (note ?? `${unreadable} unreadable`)
  return matter('run_not_clean', { account, since: ended_at, name: run_id, count, reason })
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

/** A matter. @param about what is left out is nothing, and the count 1. */
export function matter(kind: NeedKind, about: Partial<Matter>): Matter {
  return { since: null, count: 1, account: null, destination: null, name: null, reason: null, behind: 0, ...about, kind }
}

/** Things of one kind, where there are any. */
export function pile(kind: NeedKind, { count, oldestAt }: Pile, about: Partial<Matter>): Matter[] {
  return count > 0 ? [matter(kind, { ...about, count, since: oldestAt })] : []
}
