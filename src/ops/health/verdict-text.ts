import { laterTime, type TimeText } from '../../model/time.ts'
import type { Health } from '../../store/upkeep/health.ts'
import { ago, pluralize } from '../output/text.ts'
import { type Expected, servedAccounts } from './from-health.ts'
import { headlineOf } from './problem.ts'
import type { Judgement, Lateness } from './verdict.ts'

/** Maximum number of reasons that the sentence names. The sentence only counts further reasons. */
const NAMED = 2

/**
 * @returns the verdict in one sentence.
 * The sentence begins with `Complete and fresh`, `Catching up`, `Needs attention` or `Unknown`.
 */
export function sentenceOf(judgement: Judgement, health: Health, expected: Expected): string {
  const { verdict, problems, late } = judgement
  const unread = health.unread.map(({ part }) => part)
  const unknown = unread.length === 0 ? '' : `; could not be read: ${together(unread)}`
  const unserved = `${unknown}${health.isServed ? '' : '; no process is running'}`
  if (verdict === 'unknown') return `Unknown${unserved}.`.replace('; ', ': ')
  if (verdict === 'attention') return `Needs attention: ${together(problems.map(headlineOf))}${unserved}.`
  if (verdict === 'catching_up') return `Catching up: ${together(late.map((each) => lateText(each, expected.nowMs)))}${unserved}.`
  return `Complete and fresh: ${completeText(health, expected)}.`
}

function lateText({ kind, of, count, since }: Lateness, nowMs: number): string {
  const n = count ?? 0
  const age = ago(since, nowMs)
  switch (kind) {
    case 'not_served':
      return of === null ? 'the mirror is empty, and `serve` never ran' : `account ${of} has never been read from the service`
    case 'never_read':
      return `${pluralize(n, 'submission')} of account ${of} ${n === 1 ? 'was' : 'were'} never fully read`
    case 'deliveries':
      return `${pluralize(n, 'delivery', 'deliveries')} ${n === 1 ? 'waits' : 'wait'}, the oldest for ${age}`
    case 'alarms':
      return `alarms have not been evaluated for ${age}`
    case 'wakes':
      return `account ${of} has had unread activity for ${age}`
    case 'reads':
      return `reads of account ${of} are overdue by ${age}`
    case 'failing':
      return `${pluralize(n, 'read')} of account ${of} ${n === 1 ? 'fails' : 'fail'} repeatedly`
    case 'stale':
      return `a submission of account ${of} has not been read for ${age}`
    case 'pushes':
      return `changes for destination ${of} have waited for ${age}`
  }
}

function completeText(health: Health, expected: Expected): string {
  const accounts = servedAccounts(health, expected)
  const total = totalOf(accounts.map(({ submissions }) => submissions))
  const unreachable = totalOf(accounts.map((each) => each.unreachable)) ?? 0
  const newest = accounts.reduce<TimeText | null>((time, { newest_read_at }) => laterTime(time, newest_read_at), null)
  const known =
    total === 0
      ? 'no submission is known yet; the next delivery adds the first one, and `track` adds earlier ones'
      : `${total === null ? 'all submissions' : pluralize(total, 'submission')}, all fully read; no work is waiting`
  const hidden = unreachable === 0 ? '' : `; the service no longer shows ${unreachable} of them`
  if (health.isServed) return `${known}${hidden}`
  return `${known}${hidden}; no process is running${newest === null ? '' : `, and the last read was ${ago(newest, expected.nowMs)} ago`}`
}

/** @returns the sum of the counts; null if one of the counts is null. */
export function totalOf(counts: readonly (number | null)[]): number | null {
  return counts.reduce((sum, n) => (sum === null || n === null ? null : sum + n), 0)
}

function together(parts: readonly string[]): string {
  const more = parts.length - NAMED
  return [...parts.slice(0, NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
