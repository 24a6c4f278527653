import type { AlarmSeverity } from '../../store/schema/operators.ts'
import type { Fix } from './fix.ts'

const S = 1_000
const MINUTE = 60 * S
/** After downtime, the program gets this many ms to catch up before an alarm fires. */
const CATCHING_UP = 15 * MINUTE

/** Account or destination of a problem; an empty string if there is none. */
export interface About {
  readonly account: string
  readonly destination: string
}

type Page = 'runbook' | 'warnings-service' | 'warnings-data'

interface Declared {
  /** Page in `docker/` that describes the problem, and the heading of its section there. */
  readonly page: Page
  readonly runbook: string
  /** What to do. Undefined if the problem's text already says what to do. */
  readonly advice?: string
  /** Operation that fixes the problem, or that shows what a person must decide. If undefined, the runbook is shown. */
  readonly fix?: (about: About) => Fix
  /** True if `status` counts the affected rows in the database. `status` then ignores the stored alarm. */
  readonly isCounted?: boolean
  /** True if `status` shows the problem before its alarm fires. */
  readonly needsAttentionEarly?: boolean
}

export interface DeclaredAlarm extends Declared {
  readonly severity: AlarmSeverity
  /** The alarm fires when its condition has been on for this many ms without a break. */
  readonly forMs: number
  /** Short text for lists, alert rules and dashboards. */
  readonly title: string
}

/**
 * All alarms by name. Users depend on the names: `kind` in `status --json`, and the metric label `name`.
 * An alarm resolves at the first evaluation that finds its condition off.
 * docker/runbook.md says when each alarm fires.
 */
export const alarms = {
  store_unavailable: critical(MINUTE, 'The database cannot be written', 'Deliveries cannot be stored'),
  disk_space: critical(0, 'The disk is nearly full', 'The disk fills', {
    advice: 'free space, lower RETENTION_DAYS, or use a larger volume',
  }),
  log_divergence: dataWarning(0, 'The database replaced another one', 'Log divergence'),
  account_stopped: critical(0, 'An account is suspended or paused', 'An account is suspended', {
    advice: 'deliveries are still stored, but the account is not read; fix the reason, then',
    fix: ({ account }) => by('account.resume', { name: account }),
  }),
  webhook_silence: critical(0, 'Webhooks stopped', 'Webhooks are silent'),
  webhook_loss: serviceWarning(0, 'Many webhooks are lost', 'Webhooks are lost'),
  deliveries_rejected: serviceWarning(0, 'All deliveries are rejected', 'Deliveries are rejected'),
  delivery_too_large: serviceWarning(0, 'A delivery was too large', 'A delivery is too large'),
  delivery_differs: serviceWarning(0, 'Deliveries reuse ids with different bodies', 'A delivery repeats with another body'),
  connection_flood: serviceWarning(0, 'Many connections are rejected', 'Too many connections'),
  inbox_backlog: serviceWarning(5 * MINUTE, 'Deliveries wait to be processed', 'Deliveries wait to be applied'),
  inbox_dead: serviceWarning(0, 'Deliveries are dead-lettered', 'A delivery is dead', {
    advice: 'fix the causes of the errors, then',
    fix: ({ account }) => by('inbox.replay', { account, state: 'dead' }),
    isCounted: true,
  }),
  service_unavailable: serviceWarning(5 * MINUTE, 'The service does not answer', 'The service does not answer'),
  reads_overdue: serviceWarning(10 * MINUTE, 'Reads are overdue', 'Reads are overdue'),
  state_stale: serviceWarning(CATCHING_UP, 'A submission is stale', 'A submission looks stale'),
  clock_skew: serviceWarning(5 * MINUTE, 'The clock is wrong', 'The clock is wrong', {
    advice: 'set it by NTP',
    needsAttentionEarly: true,
  }),
  clocks_disagree: critical(5 * MINUTE, 'The clocks disagree', 'Clocks disagree', {
    advice: 'set the wrong clock by NTP (`submission-mirror doctor` compares them)',
    needsAttentionEarly: true,
  }),
  retention_waits: dataWarning(0, 'Retention waits for confirmation', 'Retention waits', {
    advice: 'correct the clock or RETENTION_DAYS, or allow one run with `submission-mirror retention run --confirm`',
  }),
  retention_late: dataWarning(0, 'Retention does not finish', 'Retention does not finish', {
    advice: 'the log of `serve` shows why (`retention`)',
  }),
  backup_overdue: dataWarning(CATCHING_UP, 'Backups are overdue', 'Backups are overdue', {
    advice: 'the log of `serve` shows more (`backup`)',
  }),
  record_conflict: serviceWarning(0, 'A record has conflicting versions', 'A record has conflicting versions', {
    advice: 'report them to the service, or run `submission-mirror reconcile`, which adopts the version of the service',
  }),
  items_unreadable: serviceWarning(0, 'Items cannot be read', 'Items cannot be read', {
    advice: 'upgrade to a release that understands them, or report them to the service',
  }),
  documents_full: dataWarning(0, 'Document storage is full', 'No room for documents', {
    advice: 'raise DOCUMENTS_TOTAL_BYTES, or purge submissions',
  }),
  document_too_long: dataWarning(0, 'A document is longer than allowed', 'No room for documents', {
    advice: 'raise DOCUMENTS_MAX_BYTES, or get them from the service',
    fix: failedDocuments,
  }),
  document_host_unlisted: dataWarning(0, 'Documents are on an unlisted host', 'Documents are on an unlisted host', {
    advice: 'if you trust the host, add it to the settings file and reload, or to the environment (.env) and restart',
    fix: failedDocuments,
  }),
  destination_stopped: critical(0, 'A destination is suspended', 'A destination is suspended', {
    advice: 'fix the reason, then',
    fix: ({ destination }) => by('destination.resume', { name: destination }),
  }),
  filter_failed: critical(0, 'The filter of a destination fails', 'A filter fails', {
    advice: 'fix `filter` in the settings, and reload',
  }),
  push_late: dataWarning(5 * MINUTE, 'Changes are not being sent', 'Changes are not sent'),
  push_unmapped: dataWarning(0, 'Submissions need an AMS client', 'Submissions wait to be mapped', {
    advice: 'to map submissions, run',
    fix: ({ destination }) => by('destination.map', { name: destination, file: 'clients.csv' }),
    isCounted: true,
  }),
  push_dead: dataWarning(0, 'Changes are dead-lettered', 'A change is dead', {
    advice: 'fix the causes of the errors, then',
    fix: ({ destination }) => by('outbox.retry', { destination, state: 'dead' }),
    isCounted: true,
  }),
  push_unknown: dataWarning(0, 'Changes have an unknown outcome', 'A change has an unknown outcome', {
    advice: 'look for each in the AMS, then skip or retry it; to list them, run',
    fix: ({ destination }) => by('outbox.list', { destination, state: 'unknown' }),
    isCounted: true,
  }),
  destination_lacks: dataWarning(0, 'A destination lacks delivered changes', 'A destination lacks changes', {
    advice: 'find out why; to send them again, add `--repair` to',
    fix: ({ destination }) => by('destination.verify', { name: destination }),
    isCounted: true,
  }),
  reconcile_overdue: dataWarning(CATCHING_UP, 'Reconciling is overdue', 'Reconciling is overdue'),
  reconcile_failed: dataWarning(0, 'Reconciling could not check everything', 'Reconciling could not check everything', {
    advice: 'fix the reported cause, and reconcile again:',
  }),
  reconcile_findings: dataWarning(0, 'Reconciling found differences', 'Reconciling found differences'),
} as const satisfies Record<string, DeclaredAlarm>

const others = {
  account_throttled: { page: 'warnings-service', runbook: 'The service asks for a pause', advice: 'the account is not read until then;' },
  identity_unknown: { page: 'warnings-service', runbook: 'The service does not identify the account' },
  held_submissions: {
    page: 'warnings-data',
    runbook: 'A change is dead',
    advice: 'retry or skip the changes that hold them:',
    fix: ({ destination }) => by('outbox.list', { destination, state: 'held' }),
  },
} as const satisfies Record<string, Declared>

const problems: Readonly<Record<string, Declared>> = { ...alarms, ...others }

export type AlarmName = keyof typeof alarms
export type ProblemName = AlarmName | keyof typeof others

export const alarmNames = Object.keys(alarms) as readonly AlarmName[]

/** @returns true if this release knows the alarm. A newer release may have stored other alarms. */
export function isAlarm(name: string): name is AlarmName {
  return Object.hasOwn(alarms, name)
}

/** @returns the declaration of a problem; an empty object for an alarm of a newer release. */
export function declared(name: string): Partial<Declared> {
  return Object.hasOwn(problems, name) ? (problems[name] as Declared) : {}
}

/**
 * If an alarm fires again within this many ms after its end, the same alarm continues.
 * Recipients are notified of the end only after this time. Otherwise, an unstable alarm would send many messages.
 */
export const SETTLE_MS = 5 * MINUTE

/** @returns a relative link to the problem's section in `docker/`. */
export function runbookOf(name: ProblemName): string {
  const { page, runbook } = problems[name] as Declared
  return `docker/${page}.md#${runbook.toLowerCase().replaceAll(' ', '-')}`
}

export function by(operation: string, input: Readonly<Record<string, string>> = {}): Fix {
  return { operation, input }
}

function failedDocuments({ account }: About): Fix {
  return by('document.list', { ...(account !== '' && { account }), state: 'failed' })
}

type More = Omit<Declared, 'page' | 'runbook'>

function critical(forMs: number, title: string, runbook: string, more: More = {}): DeclaredAlarm {
  return { severity: 'critical', forMs, title, page: 'runbook', runbook, ...more }
}

/** A warning about webhooks, deliveries, accounts, or reads. */
function serviceWarning(forMs: number, title: string, runbook: string, more: More = {}): DeclaredAlarm {
  return { severity: 'warning', forMs, title, page: 'warnings-service', runbook, ...more }
}

/** A warning about destinations, reconciling, or stored data. */
function dataWarning(forMs: number, title: string, runbook: string, more: More = {}): DeclaredAlarm {
  return { severity: 'warning', forMs, title, page: 'warnings-data', runbook, ...more }
}
