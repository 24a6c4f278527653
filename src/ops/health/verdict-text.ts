import { laterTime, type TimeText } from '../../model/time.ts'
import type { Health } from '../../store/upkeep/health.ts'
import { ago, pluralize, printableLine } from '../output/text.ts'
import { type Expected, type Matter, type NeedKind, servedAccounts } from './matters.ts'
import { type Mend, mendText, type ShownMend } from './mend.ts'
import { type AlarmName, rules, runbookOf } from './rules.ts'
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

/** @returns the verdict in one sentence, which begins with `Complete and fresh`, `Catching up` or `Needs attention`. */
export function sentenceOf(judgement: Judgement, health: Health, expected: Expected): string {
  const { verdict, matters, late } = judgement
  const unserved = health.isServed ? '' : '; no process is running'
  if (verdict === 'attention') return `Needs attention: ${together(matters.map(headline))}${unserved}.`
  if (verdict === 'catching_up') return `Catching up: ${together(late.map((each) => lateText(each, expected.nowMs)))}${unserved}.`
  return `Complete and fresh: ${completeText(health, expected)}.`
}

/** @returns the matter as lists show it. */
export function needOf(matter: Matter): Need {
  const { kind, since, count, reason } = matter
  const what = printableLine(reason === null ? headline(matter) : `${headline(matter)}: ${reason}`, 600)
  return { kind, what, since, count, mend: mendOf(matter) }
}

/** The matter and what to do about it in one sentence, for alarms and `doctor`. @param mend what `needOf` says, as it is called. */
export function adviceText(matter: Matter, mend: ShownMend): string {
  const advice = adviceOf(matter)
  return `${needOf(matter).what}; ${advice === null ? '' : `${advice} `}${mendText(mend)}`
}

/** What a person does first, or by what the operation shows. */
function adviceOf({ kind, count, name }: Matter): string | null {
  switch (kind) {
    case 'account_stopped':
      return 'deliveries are still stored, but nothing is read; fix the reason, then'
    case 'account_throttled':
      return 'nothing is read until then;'
    case 'destination_stopped':
      return name === 'paused' ? null : `${resumeAdvice(name)}, then`
    case 'dead_deliveries':
    case 'dead_changes':
      return 'mend what the errors name, then'
    case 'unknown_changes':
      return 'look in the AMS for each, and skip it, or retry it if it is not there:'
    case 'held_submissions':
      return 'retry or skip what holds them:'
    case 'unmapped_submissions':
      return 'map them with'
    case 'run_not_clean':
      return count > 0 ? null : 'fix what it names, and run it again:'
    default:
      return null
  }
}

/** What to do before a destination is resumed that stopped by itself. @param state `parked` or `disabled`. */
export function resumeAdvice(state: string | null): string {
  return state === 'parked' ? 'renew its credential, or mend what else the reason names' : 'mend its address'
}

/** @returns the matter in a few words. */
function headline(matter: Matter): string {
  const { kind, count, account, destination, name, behind } = matter
  const were = count === 1 ? 'was' : 'were'
  const waits = (n: number) => `${pluralize(n, 'submission')} ${n === 1 ? 'waits' : 'wait'}`
  const andBehind = behind > 0 ? `, and ${waits(behind)} behind ${count === 1 ? 'it' : 'them'}` : ''
  switch (kind) {
    case 'account_stopped':
      return `account ${account} is ${name}`
    case 'account_throttled':
      return `account ${account} waits until ${name?.slice(0, 19)}Z`
    case 'identity_unknown':
      return `GET /broker/me fails for account ${account}, so nobody checks whose its credentials are`
    case 'destination_stopped':
      return `destination ${destination} is ${name}`
    case 'alarm':
      return alarmText(matter)
    case 'destination_unanswered':
      return `destination ${destination} does not answer, and its changes wait`
    case 'dead_deliveries':
      return `${pluralize(count, 'delivery', 'deliveries')} of account ${account} ${were} given up`
    case 'webhooks_lost':
      return `no webhook announced ${count} of ${name} of account ${account} within a day`
    case 'dead_changes':
      return `${pluralize(count, 'change')} for destination ${destination} ${were} given up${andBehind}`
    case 'unknown_changes':
      return `${pluralize(count, 'change')} may or may not have reached destination ${destination}${andBehind}`
    case 'held_submissions':
      return `${waits(count)} at destination ${destination} behind a change that was given up`
    case 'unmapped_submissions':
      return `${waits(count)} at destination ${destination} for a client of the AMS`
    case 'run_not_clean':
      return count > 0
        ? `reconciling account ${account} left ${pluralize(count, 'difference')}`
        : `reconciling account ${account} could not check everything`
  }
}

/** What an alarm is about, with its name, which the runbook and the alert rules bear too. */
function alarmText({ name, account, destination }: Matter): string {
  const title = isAlarm(name) ? rules[name].title : null
  const what = title === null ? 'an alarm of a newer release fires' : `${title.charAt(0).toLowerCase()}${title.slice(1)}`
  const of = destination !== null ? ` for destination ${destination}` : account !== null ? ` for account ${account}` : ''
  return `${what}${of} (alarm ${name})`
}

/** The operation that mends a matter, where one can, or shows what a person has to decide; else what the runbook says. */
function mendOf({ kind, count, account, destination, name }: Matter): Mend {
  const of = { account: account ?? '', destination: destination ?? '', name: name ?? '' }
  const by = (operation: string, input: Readonly<Record<string, string>> = {}) => ({ operation, input })
  switch (kind) {
    case 'account_stopped':
      return by('account.resume', { name: of.account })
    case 'account_throttled':
      return { runbook: 'docker/runbook.md#the-service-asks-for-a-pause' }
    case 'identity_unknown':
      return { runbook: 'docker/runbook.md#the-service-does-not-say-who-we-are' }
    case 'destination_stopped':
    case 'destination_unanswered':
      return by('destination.resume', { name: of.destination })
    case 'webhooks_lost':
      return { runbook: runbookOf('webhook_loss') }
    case 'alarm':
      return isAlarm(name) ? { runbook: runbookOf(name) } : by('alarm.list')
    case 'dead_deliveries':
      return by('inbox.replay', { account: of.account, state: 'dead' })
    case 'dead_changes':
      return by('outbox.retry', { destination: of.destination, state: 'dead' })
    case 'unknown_changes':
    case 'held_submissions':
      return by('outbox.list', { destination: of.destination, state: kind === 'held_submissions' ? 'held' : 'unknown' })
    case 'unmapped_submissions':
      return by('destination.map', { name: of.destination, file: 'clients.csv' })
    case 'run_not_clean':
      // A run that could not check everything says itself why; another one would not check more.
      return count > 0 ? by('reconcile.request', { account: of.account }) : by('reconcile.show', { id: of.name })
  }
}

/** An alarm may have been stored by a newer release. */
function isAlarm(name: string | null): name is AlarmName {
  return name !== null && Object.hasOwn(rules, name)
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
  const total = accounts.reduce((n, { submissions }) => n + submissions, 0)
  const unreachable = accounts.reduce((n, each) => n + each.unreachable, 0)
  const newest = accounts.reduce<TimeText | null>((time, { newestReadAt }) => laterTime(time, newestReadAt), null)
  const known =
    total === 0
      ? 'no submission is known yet; the next delivery brings the first, and `track` adds earlier ones'
      : `${pluralize(total, 'submission')}, each read to the end, and nothing waits`
  const hidden = unreachable === 0 ? '' : `; the service does not show ${unreachable} of them any more`
  if (health.isServed) return `${known}${hidden}`
  return `${known}${hidden}; no process is running${newest === null ? '' : `, and the last read was ${ago(newest, expected.nowMs)} ago`}`
}

function together(parts: readonly string[]): string {
  const more = parts.length - NAMED
  return [...parts.slice(0, NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
