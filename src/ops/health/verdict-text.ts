import { laterTime, type TimeText } from '../../model/time.ts'
import type { Health } from '../../store/upkeep/health.ts'
import { ago, pluralize, printableLine } from '../output/text.ts'
import { type Expected, type Matter, servedAccounts } from './matters.ts'
import { type Mend, mendText, type ShownMend } from './mend.ts'
import { type NeedKind, needKinds } from './need-kinds.ts'
import type { Judgement, Lateness } from './verdict.ts'

/** How many reasons the sentence names; the others are counted. */
const NAMED = 2

/** A matter that needs a person, as lists show it. */
export interface Need {
  readonly kind: NeedKind
  readonly what: string
  readonly since: TimeText | null
  readonly count: number
  readonly mend: Mend
}

/** @returns the verdict in one sentence, which begins with `Complete and fresh`, `Catching up`, `Needs attention` or `Unknown`. */
export function sentenceOf(judgement: Judgement, health: Health, expected: Expected): string {
  const { verdict, matters, late } = judgement
  const unread = health.unread.map(({ part }) => part)
  const unknown = unread.length === 0 ? '' : `; could not be read: ${together(unread)}`
  const unserved = `${unknown}${health.isServed ? '' : '; no process is running'}`
  if (verdict === 'unknown') return `Unknown${unserved}.`.replace('; ', ': ')
  if (verdict === 'attention') return `Needs attention: ${together(matters.map(headline))}${unserved}.`
  if (verdict === 'catching_up') return `Catching up: ${together(late.map((each) => lateText(each, expected.nowMs)))}${unserved}.`
  return `Complete and fresh: ${completeText(health, expected)}.`
}

/** @returns the matter as lists show it. */
export function needOf(matter: Matter): Need {
  const { kind, since, count, reason } = matter
  const { isToldByReason, mend } = needKinds[kind]
  const said = isToldByReason?.(matter) ? [reason] : [headline(matter), reason]
  const what = printableLine(said.filter((part) => part !== null).join(': '), 600)
  return { kind, what, since, count, mend: mend(matter) }
}

/** The matter and what to do about it in one sentence, for alarms and `doctor`. @param mend what `needOf` says, as it is called. */
export function adviceText(matter: Matter, mend: ShownMend): string {
  const { advice } = needKinds[matter.kind]
  const first = typeof advice === 'function' ? advice(matter) : advice
  return `${needOf(matter).what}; ${first ? `${first} ` : ''}${mendText(mend)}`
}

function headline(matter: Matter): string {
  return needKinds[matter.kind].says(matter)
}

function lateText({ kind, of, count, since }: Lateness, nowMs: number): string {
  const n = count ?? 0
  const age = ago(since, nowMs)
  switch (kind) {
    case 'not_served':
      return of === null ? 'the mirror is empty and was never served' : `account ${of} was never read from the service`
    case 'never_read':
      return `${pluralize(n, 'submission')} of account ${of} ${n === 1 ? 'was' : 'were'} never read to the end`
    case 'deliveries':
      return `${pluralize(n, 'delivery', 'deliveries')} ${n === 1 ? 'waits' : 'wait'}, the oldest for ${age}`
    case 'alarms':
      return `alarms have not been evaluated for ${age}`
    case 'wakes':
      return `news of account ${of} waits to be read for ${age}`
    case 'reads':
      return `reads of account ${of} are overdue by ${age}`
    case 'failing':
      return `${pluralize(n, 'read')} of account ${of} ${n === 1 ? 'fails' : 'fail'} again and again`
    case 'stale':
      return `a submission of account ${of} was not read for ${age}`
    case 'pushes':
      return `changes for destination ${of} wait for ${age}`
  }
}

/** What is complete, and where that ends to be known. */
function completeText(health: Health, expected: Expected): string {
  const accounts = servedAccounts(health, expected)
  const total = totalOf(accounts.map(({ submissions }) => submissions))
  const unreachable = totalOf(accounts.map((each) => each.unreachable)) ?? 0
  const newest = accounts.reduce<TimeText | null>((time, { newestReadAt }) => laterTime(time, newestReadAt), null)
  const known =
    total === 0
      ? 'no submission is known yet; the next delivery brings the first, and `track` adds earlier ones'
      : `${total === null ? 'all submissions' : pluralize(total, 'submission')}, each read to the end, and nothing waits`
  const hidden = unreachable === 0 ? '' : `; the service does not show ${unreachable} of them any more`
  if (health.isServed) return `${known}${hidden}`
  return `${known}${hidden}; no process is running${newest === null ? '' : `, and the last read was ${ago(newest, expected.nowMs)} ago`}`
}

/** @returns the sum; null when one is not known. */
export function totalOf(counts: readonly (number | null)[]): number | null {
  return counts.reduce((sum, n) => (sum === null || n === null ? null : sum + n), 0)
}

function together(parts: readonly string[]): string {
  const more = parts.length - NAMED
  return [...parts.slice(0, NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
