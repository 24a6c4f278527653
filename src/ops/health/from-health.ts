import { FAILURES_TO_OPEN } from '../../push/contract/delivery.ts'
import type { WebhookLoss } from '../../store/operators/alarm-queries.ts'
import type { EndedRun } from '../../store/reconcile/left.ts'
import { isNarrowed } from '../../store/reconcile/runs.ts'
import type { Pile } from '../../store/upkeep/gauges.ts'
import type { AccountHealth, DestinationHealth, Health } from '../../store/upkeep/health.ts'
import { nextAttemptText, pluralize } from '../output/text.ts'
import { keyOf, levelOf, type Problem, stated } from './problem.ts'
import { by, declared, type ProblemName } from './problems.ts'

/**
 * `webhook_loss` fires if within a day at least `records` webhooks were lost.
 * The lost webhooks must also be at least `share` of the records that webhooks should have announced.
 */
const lossFrom = { records: 10, share: 0.1 } as const

/** Time and settings for judging the contents of the database. */
export interface Expected {
  readonly nowMs: number
  /** Configured accounts. If empty, every account and destination in the database counts. */
  readonly accounts: readonly string[]
  readonly destinations: readonly string[]
  /** `POLL_DORMANT` in ms: the longest time between two reads of a submission. */
  readonly dormantMs: number
}

export function servedAccounts({ accounts }: Health, expected: Expected): AccountHealth[] {
  return accounts.filter(({ account }) => expected.accounts.length === 0 || expected.accounts.includes(account))
}

export function servedDestinations({ destinations }: Health, { accounts, destinations: names }: Expected): DestinationHealth[] {
  return destinations.filter(({ destination }) => accounts.length === 0 || names.includes(destination))
}

/** @returns all problems that need attention. @param known see `knownProblems`. */
export function problemsOf(health: Health, known: readonly Problem[], expected: Expected): Problem[] {
  const accounts = servedAccounts(health, expected)
  const destinations = servedDestinations(health, expected)
  const alarms = new Map(known.map((each) => [keyOf(each), each]))
  const stopped = [...accounts.flatMap(accountStopped), ...destinations.flatMap(destinationStopped)]
  const others = [
    ...destinations.flatMap((row) => destinationUnanswered(row, expected.nowMs)),
    ...destinations.flatMap(({ destination, lacking }) => lackingChanges(destination, lacking)),
    // Include accounts and destinations that the settings no longer have. These may still have dead-lettered work.
    ...health.accounts.flatMap(({ account, dead }) => deadDeliveries(account, dead)),
    ...health.destinations.flatMap(stoppedChanges),
    ...accounts.flatMap(unsettledRun),
    ...accounts.flatMap(serviceProblems),
    ...accounts.flatMap(({ account, loss }) => webhooksLost(account, loss)).filter(({ level }) => level === 'on'),
  ].map((each) => ({ ...each, since: each.since ?? alarms.get(keyOf(each))?.since ?? null }))
  const own = new Set([...stopped, ...others].map(keyOf))
  return [...stopped, ...known.filter((each) => declared(each.name).isCounted !== true && !own.has(keyOf(each))), ...others]
}

export function accountStopped({
  account,
  state,
  reason,
  since,
}: Pick<AccountHealth, 'account' | 'state' | 'reason' | 'since'>): Problem[] {
  return state === 'active' ? [] : [stated('account_stopped', { account, since }, `account ${account} is ${state}`, reason)]
}

export function destinationStopped(row: Pick<DestinationHealth, 'destination' | 'state' | 'reason' | 'since' | 'retry_at'>): Problem[] {
  const { destination, state, reason, since, retry_at: retryAt } = row
  if (state === 'active') return []
  const headline = `destination ${destination} is ${state}`
  if (state === 'paused') return [stated('destination_stopped', { destination, since, advice: null }, headline, reason)]
  const next = retryAt === null ? 'sending stops until you resume it' : 'the next attempt is automatic'
  return [stated('destination_stopped', { destination, since }, headline, `${reason ?? 'no reason is known'}; ${next}`)]
}

/**
 * @returns a text about a destination that does not answer.
 * Returns null if fewer than `FAILURES_TO_OPEN` attempts in a row have failed.
 */
export function outageText({ failures, retry_at }: Pick<DestinationHealth, 'failures' | 'retry_at'>, nowMs: number): string | null {
  if (failures < FAILURES_TO_OPEN) return null
  const next = retry_at === null ? 'the next attempt is automatic' : nextAttemptText(retry_at, nowMs)
  return `${failures} attempts in a row failed; ${next}; resume the destination to retry now`
}

function destinationUnanswered(row: DestinationHealth, nowMs: number): Problem[] {
  const { destination, state, oldest_unsent_at: since } = row
  const reason = state !== 'active' || since === null ? null : outageText(row, nowMs)
  const fix = by('destination.resume', { name: destination })
  const headline = `destination ${destination} does not answer, so its changes wait`
  return reason === null ? [] : [stated('push_late', { destination, since, fix }, headline, reason)]
}

/**
 * @returns the problem that many webhooks were lost in the last day; an empty list if few were lost.
 * Between half of `lossFrom.share` and the full share, the level is `between`.
 */
export function webhooksLost(account: string, { expected, lost, since }: WebhookLoss): Problem[] {
  const share = lost < lossFrom.records ? 0 : Math.min(1, lost / expected)
  const level = levelOf(share, lossFrom.share / 2, lossFrom.share)
  if (level === 'off') return []
  const headline = `no webhook announced ${lost} of ${pluralize(expected, 'record')} of account ${account} within a day`
  const reason = `that is ${Math.round(share * 100)} %; polling found them. Check the endpoint's filter and its log of attempts in the portal`
  return [{ ...stated('webhook_loss', { account, since, count: lost }, headline, reason), level }]
}

export function deadDeliveries(account: string, dead: Pile): Problem[] {
  const headline = `${pluralize(dead.count, 'delivery', 'deliveries')} of account ${account} ${are(dead)} dead-lettered`
  return counted('inbox_dead', { account }, dead, headline)
}

/** @param behind number of submissions that wait behind the dead-lettered changes. */
export function deadChanges(destination: string, dead: Pile, behind = 0): Problem[] {
  const headline = `${pluralize(dead.count, 'change')} for destination ${destination} ${are(dead)} dead-lettered${andBehind(dead, behind)}`
  return counted('push_dead', { destination }, dead, headline)
}

/** @param behind number of submissions that wait behind the changes with an unknown outcome. */
export function unknownChanges(destination: string, unknown: Pile, behind = 0): Problem[] {
  const headline = `${pluralize(unknown.count, 'change')} for destination ${destination} ${unknown.count === 1 ? 'has' : 'have'} an unknown outcome${andBehind(unknown, behind)}`
  return counted('push_unknown', { destination }, unknown, headline)
}

export function lackingChanges(destination: string, lacking: Pile): Problem[] {
  const headline = `destination ${destination} lacks ${pluralize(lacking.count, 'delivered change')}`
  return counted('destination_lacks', { destination }, lacking, headline)
}

export function unmappedSubmissions(destination: string, unmapped: Pile): Problem[] {
  const headline = `${pluralize(unmapped.count, 'submission')} ${unmapped.count === 1 ? 'needs' : 'need'} an AMS client (destination ${destination})`
  return counted('push_unmapped', { destination }, unmapped, headline)
}

function stoppedChanges({ destination, dead, unknown, held, unmapped }: DestinationHealth): Problem[] {
  const stopped = [...deadChanges(destination, dead, held.count), ...unknownChanges(destination, unknown, dead.count > 0 ? 0 : held.count)]
  const headline = `${waits(held.count)} at destination ${destination} behind a dead-lettered change`
  // If `stopped` contains problems, their texts already count the submissions that wait.
  const waiting = stopped.length > 0 ? [] : counted('held_submissions', { destination }, held, headline)
  return [...stopped, ...waiting, ...unmappedSubmissions(destination, unmapped)]
}

/**
 * @returns problems between an active account and the service: a long pause, or an unknown owner of the credentials.
 */
function serviceProblems({ account, state, pause, identity_error: reason, identity_failing_since: since }: AccountHealth): Problem[] {
  if (state !== 'active') return []
  const unidentified = `GET /broker/me fails for account ${account}, so the owner of its credentials is unknown`
  return [
    ...(pause?.isLong
      ? [
          stated(
            'account_throttled',
            { account, since: pause.since },
            `account ${account} waits until ${pause.until.slice(0, 19)}Z`,
            pause.reason,
          ),
        ]
      : []),
    ...(reason === null ? [] : [stated('identity_unknown', { account, since }, unidentified, reason)]),
  ]
}

function unsettledRun({ account, runs }: AccountHealth): Problem[] {
  const unsettled = runs.find((run, index) => !isClean(run) && !runs.slice(0, index).some((newer) => isClean(newer) && covers(newer, run)))
  if (unsettled === undefined) return []
  return [...differencesLeft(account, unsettled), ...uncheckedBy(account, unsettled)]
}

function differencesLeft(account: string, { run_id: runId, ended_at: since, left: { differences: count } }: EndedRun): Problem[] {
  const fix = by('reconcile.request', { account })
  const headline = `reconciling account ${account} left ${pluralize(count, 'difference')}`
  return count === 0 ? [] : [stated('reconcile_findings', { account, since, count, runId, fix }, headline)]
}

/**
 * @returns the problem that a run could not check everything; an empty list for other runs.
 * The fix is to show the run's reasons, because a new run would usually end in the same way.
 */
export function uncheckedBy(account: string, { run_id: runId, ended_at: since, state, note, unreadable, left }: EndedRun): Problem[] {
  if (state !== 'failed' && left.unreadable === 0) return []
  const fix = by('reconcile.show', { id: runId })
  const headline = `reconciling account ${account} could not check everything`
  return [stated('reconcile_failed', { account, since, runId, fix }, headline, note ?? `${unreadable} unreadable`)]
}

/**
 * @returns true if the run did not fail, and left no unresolved differences and no unreadable submissions.
 * A run that ended early because of its budget can also be clean, because the next run checks the rest.
 */
function isClean({ state, left }: EndedRun): boolean {
  return state !== 'failed' && left.unreadable + left.differences === 0
}

/** @returns true if the newer run certainly checked everything that the older run had to check. */
function covers(newer: EndedRun, { options }: EndedRun): boolean {
  if (newer.state === 'budget') return false
  if (newer.options.no_state === true && options.no_state !== true) return false
  if (!isNarrowed(newer.options)) return true
  const { submissions, since, active_only } = newer.options
  if (since !== undefined || active_only === true) return false
  return options.submissions?.every((id) => submissions?.includes(id)) ?? false
}

function counted(name: ProblemName, about: { account: string } | { destination: string }, pile: Pile, headline: string): Problem[] {
  return pile.count === 0 ? [] : [stated(name, { ...about, count: pile.count, since: pile.oldest_at }, headline)]
}

function are({ count }: Pile): string {
  return count === 1 ? 'is' : 'are'
}

function waits(n: number): string {
  return `${pluralize(n, 'submission')} ${n === 1 ? 'waits' : 'wait'}`
}

function andBehind({ count }: Pile, behind: number): string {
  return behind > 0 ? `; ${waits(behind)} behind ${count === 1 ? 'it' : 'them'}` : ''
}
