import { earlierTime, msFromTime, type TimeText } from '../../model/time.ts'
import type { AccountHealth, Health } from '../../store/upkeep/health.ts'
import { type Expected, type Matter, mattersOf, type Standing, servedAccounts, servedDestinations } from './matters.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 24 * 60 * MINUTE_MS

/** From this age on something is older than it should be. The alarms fire later, at ages that need a person. */
export const lateAfterMs = {
  delivery: 30 * SECOND_MS,
  wake: MINUTE_MS,
  read: 5 * MINUTE_MS,
  push: 5 * MINUTE_MS,
  alarms: 2 * MINUTE_MS,
} as const

/** A submission that was not read for this long is stale. */
export function staleAfterMs(dormantMs: number): number {
  return dormantMs + DAY_MS
}

export const verdictWords = ['complete', 'catching_up', 'attention', 'unknown'] as const
type VerdictWord = (typeof verdictWords)[number]

/** Something that is not as fresh as it should be and gets so without a person. */
export interface Lateness {
  readonly kind: 'not_served' | 'never_read' | 'deliveries' | 'alarms' | 'wakes' | 'reads' | 'failing' | 'stale' | 'pushes'
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

/**
 * The verdict on a mirror. `attention`: something holds that an alarm is about, something is dead or held, an account or destination is
 * stopped, many webhooks are lost, the service asked for a long pause or does not say whose the credentials are, or a reconcile run was not clean. `catching_up`:
 * something is older than it should be, or a submission was never read to the end. `unknown`: a part could not be read, and the others are
 * fine. Else `complete`.
 * @param standing see `standingConditions`.
 */
export function judge(health: Health, standing: readonly Standing[], expected: Expected): Judgement {
  const matters = mattersOf(health, standing, expected)
  const late = latenessOf(health, expected)
  const verdict = matters.length > 0 ? 'attention' : late.length > 0 ? 'catching_up' : health.unread.length > 0 ? 'unknown' : 'complete'
  const reasons: readonly { readonly since: TimeText | null }[] = matters.length > 0 ? matters : late
  return { verdict, matters, late, since: reasons.reduce<TimeText | null>((oldest, { since }) => earlierTime(oldest, since), null) }
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
    ...(health.isServed && isOld(health.alarmsAt, lateAfterMs.alarms, expected) ? [late('alarms', null, health.alarmsAt)] : []),
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
    ...(isOld(a.stalestReadAt, staleAfterMs(expected.dormantMs), expected) ? [late('stale', of, a.stalestReadAt)] : []),
  ]
}

/** @returns whether a moment is so long ago. */
function isOld(at: TimeText | null, ageMs: number, { nowMs }: Expected): boolean {
  return at !== null && nowMs - msFromTime(at) > ageMs
}

function late(kind: Lateness['kind'], of: string | null, since: TimeText | null = null, count: number | null = null): Lateness {
  return { kind, of, since, count }
}
