import { earlierTime, msFromTime, type TimeText } from '../../model/time.ts'
import type { AccountHealth, Health } from '../../store/upkeep/health.ts'
import { type Expected, problemsOf, servedAccounts, servedDestinations } from './from-health.ts'
import type { Problem } from './problem.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 24 * 60 * MINUTE_MS

/** Work that waits longer than this, in ms, makes the verdict `catching_up`. Alarms fire later. */
export const lateAfterMs = {
  delivery: 30 * SECOND_MS,
  wake: MINUTE_MS,
  read: 5 * MINUTE_MS,
  push: 5 * MINUTE_MS,
  alarms: 2 * MINUTE_MS,
} as const

/** @returns the age in ms from which a submission's last read is too old. */
export function staleAfterMs(dormantMs: number): number {
  return dormantMs + DAY_MS
}

export const verdictWords = ['complete', 'catching_up', 'attention', 'unknown'] as const
type VerdictWord = (typeof verdictWords)[number]

/** Overdue work that needs no person: the program completes it automatically. */
export interface Lateness {
  readonly kind: 'not_served' | 'never_read' | 'deliveries' | 'alarms' | 'wakes' | 'reads' | 'failing' | 'stale' | 'pushes'
  /** The affected account or destination; null if the whole mirror is affected. */
  readonly of: string | null
  /** Number of affected objects; null if unknown. */
  readonly count: number | null
  readonly since: TimeText | null
}

export interface Judgement {
  readonly verdict: VerdictWord
  readonly problems: readonly Problem[]
  readonly late: readonly Lateness[]
  /** Start of the oldest problem or overdue work; null if unknown. */
  readonly since: TimeText | null
}

/**
 * @returns the verdict on a mirror, with the first of these that applies:
 * - `attention`: there are problems; see `problemsOf`.
 * - `catching_up`: work is overdue, or an account or a submission was never fully read.
 * - `unknown`: a part of the database could not be read.
 * - `complete`: none of the above.
 *
 * @param known see `knownProblems`.
 */
export function judge(health: Health, known: readonly Problem[], expected: Expected): Judgement {
  const problems = problemsOf(health, known, expected)
  const late = latenessOf(health, expected)
  const verdict = problems.length > 0 ? 'attention' : late.length > 0 ? 'catching_up' : health.unread.length > 0 ? 'unknown' : 'complete'
  const reasons: readonly { readonly since: TimeText | null }[] = problems.length > 0 ? problems : late
  return { verdict, problems, late, since: reasons.reduce<TimeText | null>((oldest, { since }) => earlierTime(oldest, since), null) }
}

function latenessOf(health: Health, expected: Expected): Lateness[] {
  const known = new Set(health.accounts.map(({ account }) => account))
  const never = expected.accounts.filter((account) => !known.has(account))
  const isEmpty = expected.accounts.length === 0 && health.accounts.length === 0
  const { count, oldest_at } = health.inbox
  return [
    ...never.map((of) => late('not_served', of)),
    ...(isEmpty ? [late('not_served', null)] : []),
    ...servedAccounts(health, expected).flatMap((account) => accountLateness(account, expected)),
    ...(isOld(oldest_at, lateAfterMs.delivery, expected) ? [late('deliveries', null, oldest_at, count)] : []),
    ...(health.isServed && isOld(health.alarmsAt, lateAfterMs.alarms, expected) ? [late('alarms', null, health.alarmsAt)] : []),
    ...servedDestinations(health, expected)
      .filter(({ oldest_unsent_at }) => isOld(oldest_unsent_at, lateAfterMs.push, expected))
      .map(({ destination, oldest_unsent_at }) => late('pushes', destination, oldest_unsent_at)),
  ]
}

function accountLateness(a: AccountHealth, expected: Expected): Lateness[] {
  const { account: of } = a
  // The brokerage can stay unknown although reads succeed, so check the reads too.
  const isUnanswered = a.brokerage === null && a.newest_read_at === null && a.never_read === 0
  return [
    ...(isUnanswered ? [late('not_served', of)] : []),
    ...(a.never_read > 0 ? [late('never_read', of, null, a.never_read)] : []),
    ...(isOld(a.oldest_read_request_at, lateAfterMs.wake, expected) ? [late('wakes', of, a.oldest_read_request_at)] : []),
    ...(isOld(a.oldest_read_due_at, lateAfterMs.read, expected) ? [late('reads', of, a.oldest_read_due_at)] : []),
    ...(a.failing.often > 0 ? [late('failing', of, null, a.failing.often)] : []),
    ...(isOld(a.stalest_read_at, staleAfterMs(expected.dormantMs), expected) ? [late('stale', of, a.stalest_read_at)] : []),
  ]
}

function isOld(at: TimeText | null, ageMs: number, { nowMs }: Expected): boolean {
  return at !== null && nowMs - msFromTime(at) > ageMs
}

function late(kind: Lateness['kind'], of: string | null, since: TimeText | null = null, count: number | null = null): Lateness {
  return { kind, of, since, count }
}
