import type { TimeText } from '../../model/time.ts'
import { pluralize } from '../output/text.ts'
import type { Mend } from './mend.ts'
import { type AlarmName, isAlarm, rules, runbookOf } from './rules.ts'

/** What a matter is about. */
export interface MatterFacts {
  readonly since: TimeText | null
  readonly count: number
  readonly account: string | null
  readonly destination: string | null
  /** The state of what is stopped, the name of an alarm, the id of a run, until when a pause lasts, of how many records webhooks are lost. */
  readonly name: string | null
  /** Why, in the words that the database keeps. */
  readonly reason: string | null
  /** Submissions that wait behind it. */
  readonly behind: number
}

/** How a kind of matter is told. */
interface Telling {
  /** It in a few words. */
  readonly says: (of: MatterFacts) => string
  /** Whether the reason says all of that by itself. */
  readonly isToldByReason?: (of: MatterFacts) => boolean
  /** What a person does first, or by what the operation shows. */
  readonly advice?: string | ((of: MatterFacts) => string | null)
  /** The operation that mends it, where one can, or shows what a person has to decide; else what the runbook says. */
  readonly mend: (of: MatterFacts) => Mend
  /** Alarms that tell of the same. */
  readonly alarms?: readonly AlarmName[]
}

const table = {
  account_stopped: {
    says: ({ account, name }) => `account ${account} is ${name}`,
    advice: 'deliveries are still stored, but nothing is read; fix the reason, then',
    mend: ({ account }) => by('account.resume', { name: account }),
    alarms: ['account_stopped'],
  },
  account_throttled: {
    says: ({ account, name }) => `account ${account} waits until ${name?.slice(0, 19)}Z`,
    advice: 'nothing is read until then;',
    mend: () => ({ runbook: 'docker/runbook.md#the-service-asks-for-a-pause' }),
  },
  identity_unknown: {
    says: ({ account }) => `GET /broker/me fails for account ${account}, so nobody checks whose its credentials are`,
    mend: () => ({ runbook: 'docker/runbook.md#the-service-does-not-say-who-we-are' }),
  },
  destination_stopped: {
    says: ({ destination, name }) => `destination ${destination} is ${name}`,
    advice: ({ name }) => (name === 'paused' ? null : 'fix what the reason names, then'),
    mend: ({ destination }) => by('destination.resume', { name: destination }),
    alarms: ['destination_stopped'],
  },
  destination_unanswered: {
    says: ({ destination }) => `destination ${destination} does not answer, and its changes wait`,
    mend: ({ destination }) => by('destination.resume', { name: destination }),
    alarms: ['push_late'],
  },
  alarm: {
    says: alarmText,
    isToldByReason: ({ name }) => ofDocuments.has(name),
    mend: alarmMend,
  },
  dead_deliveries: {
    says: ({ count, account }) => `${pluralize(count, 'delivery', 'deliveries')} of account ${account} ${were(count)} given up`,
    advice: 'mend what the errors name, then',
    mend: ({ account }) => by('inbox.replay', { account, state: 'dead' }),
    alarms: ['inbox_dead'],
  },
  webhooks_lost: {
    says: ({ count, name, account }) => `no webhook announced ${count} of ${name} of account ${account} within a day`,
    mend: () => ({ runbook: runbookOf('webhook_loss') }),
    alarms: ['webhook_loss'],
  },
  dead_changes: {
    says: (of) => `${pluralize(of.count, 'change')} for destination ${of.destination} ${were(of.count)} given up${andBehind(of)}`,
    advice: 'mend what the errors name, then',
    mend: ({ destination }) => by('outbox.retry', { destination, state: 'dead' }),
    alarms: ['push_dead'],
  },
  unknown_changes: {
    says: (of) => `${pluralize(of.count, 'change')} may or may not have reached destination ${of.destination}${andBehind(of)}`,
    advice: 'look in the AMS for each, and skip it, or retry it if it is not there:',
    mend: ({ destination }) => by('outbox.list', { destination, state: 'unknown' }),
    alarms: ['push_unknown'],
  },
  lacking_changes: {
    says: ({ count, destination }) => `destination ${destination} lacks ${pluralize(count, 'change')} that it had taken`,
    advice: 'find out why; with `--repair` it sends them again:',
    mend: ({ destination }) => by('destination.verify', { name: destination }),
    alarms: ['destination_lacks'],
  },
  held_submissions: {
    says: ({ count, destination }) => `${waits(count)} at destination ${destination} behind a change that was given up`,
    advice: 'retry or skip what holds them:',
    mend: ({ destination }) => by('outbox.list', { destination, state: 'held' }),
  },
  unmapped_submissions: {
    says: ({ count, destination }) => `${waits(count)} at destination ${destination} for a client of the AMS`,
    advice: 'map them with',
    mend: ({ destination }) => by('destination.map', { name: destination, file: 'clients.csv' }),
    alarms: ['push_unmapped'],
  },
  run_not_clean: {
    says: ({ count, account }) =>
      `reconciling account ${account} ${count > 0 ? `left ${pluralize(count, 'difference')}` : 'could not check everything'}`,
    advice: ({ count }) => (count > 0 ? null : 'fix what it names, and run it again:'),
    // A run that could not check everything says itself why; another one would not check more.
    mend: ({ count, account, name }) => (count > 0 ? by('reconcile.request', { account }) : by('reconcile.show', { id: name })),
    alarms: ['reconcile_failed', 'reconcile_findings'],
  },
} satisfies Record<string, Telling>

/** What a matter is that needs a person. Part of the contract: `status --json` prints it. */
export type NeedKind = keyof typeof table

/** Every kind, and how it is told. */
export const needKinds: Readonly<Record<NeedKind, Telling>> = table

function by(operation: string, input: Readonly<Record<string, string | null>> = {}): Mend {
  return { operation, input: Object.fromEntries(Object.entries(input).map(([field, value]) => [field, value ?? ''])) }
}

function were(count: number): string {
  return count === 1 ? 'was' : 'were'
}

function waits(n: number): string {
  return `${pluralize(n, 'submission')} ${n === 1 ? 'waits' : 'wait'}`
}

function andBehind({ count, behind }: MatterFacts): string {
  return behind > 0 ? `, and ${waits(behind)} behind ${count === 1 ? 'it' : 'them'}` : ''
}

/** What an alarm is about. */
function alarmText({ name, account, destination }: MatterFacts): string {
  const title = isAlarm(name) ? rules[name].title : null
  const what = title === null ? `${name}, an alarm of a newer release, fires` : `${title.charAt(0).toLowerCase()}${title.slice(1)}`
  const of = destination !== null ? ` for destination ${destination}` : account !== null ? ` for account ${account}` : ''
  return `${what}${of}`
}

/** Alarms about documents that are not fetched: the list says of each what to do. */
const ofDocuments: ReadonlySet<string | null> = new Set<AlarmName>(['document_host_unnamed', 'document_too_long'])

function alarmMend({ name, account }: MatterFacts): Mend {
  if (ofDocuments.has(name)) return by('document.list', { ...(account !== null && { account }), state: 'failed' })
  return isAlarm(name) ? { runbook: runbookOf(name) } : by('alarm.list')
}
