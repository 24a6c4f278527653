import type { AlarmSeverity } from '../../store/schema/operators.ts'

const S = 1_000
const MINUTE = 60 * S
/** Time to catch up after the program was down. */
const CATCHING_UP = 15 * MINUTE

/** The fixed part of an alarm. */
export interface AlarmRule {
  readonly severity: AlarmSeverity
  /** How long its condition must be on, without a break, before it fires. */
  readonly forMs: number
  /** What it is about, in a few words: for lists, alert rules and dashboards. */
  readonly title: string
  /** The heading in docker/runbook.md. */
  readonly runbook: string
}

/**
 * Every alarm by its name. The names are part of the contract, as those of metrics are. An alarm resolves with the first evaluation that
 * finds its condition off. docker/runbook.md lists when each fires.
 */
export const rules = {
  store_unavailable: rule('critical', MINUTE, 'The database cannot be written', 'Deliveries cannot be stored'),
  disk_space: rule('critical', 0, 'The disk is nearly full', 'The disk fills'),
  lost_branch: rule('warning', 0, 'The database took the place of another', 'A lost branch'),
  account_stopped: rule('critical', 0, 'An account is suspended or paused', 'An account is suspended'),
  webhook_silence: rule('critical', 0, 'No webhook comes any more', 'Webhooks are silent'),
  webhook_loss: rule('warning', 0, 'Many webhooks are lost', 'Webhooks are lost'),
  deliveries_refused: rule('warning', 0, 'Deliveries are refused and none is taken', 'Deliveries are refused'),
  delivery_too_large: rule('warning', 0, 'A delivery was too large', 'A delivery is too large'),
  delivery_differs: rule('warning', 0, 'Deliveries come again with another body', 'A delivery comes again with another body'),
  connection_flood: rule('warning', 0, 'Many connections are refused', 'A flood'),
  inbox_backlog: rule('warning', 5 * MINUTE, 'Deliveries wait to be worked', 'Deliveries wait'),
  inbox_dead: rule('warning', 0, 'Deliveries were given up', 'A delivery is dead'),
  service_unavailable: rule('warning', 5 * MINUTE, 'The service answers no read', 'The service does not answer'),
  reads_overdue: rule('warning', 10 * MINUTE, 'Reads come too late', 'Reads come too late'),
  state_stale: rule('warning', CATCHING_UP, 'Some submission is not fresh', 'A submission looks stale'),
  clock_skew: rule('warning', 5 * MINUTE, 'The clock is wrong', 'The clock is wrong'),
  clocks_disagree: rule('critical', 5 * MINUTE, 'The clocks disagree', 'A clock that was wrong'),
  retention_waits: rule('warning', 0, 'Retention waits to be confirmed', 'Retention waits'),
  retention_late: rule('warning', 0, 'Retention does not come to its end', 'Retention does not end'),
  backup_overdue: rule('warning', CATCHING_UP, 'Backups are overdue', 'Backups are overdue'),
  record_conflict: rule('warning', 0, 'A record contradicts itself', 'A record contradicts itself'),
  items_unreadable: rule('warning', 0, 'Items cannot be read', 'Items cannot be read'),
  documents_full: rule('warning', 0, 'No room for further documents', 'No room for documents'),
  document_too_long: rule('warning', 0, 'A document is longer than allowed', 'No room for documents'),
  document_host_unnamed: rule('warning', 0, 'Documents lie on a host that is not named', 'A host of documents is not named'),
  destination_stopped: rule('critical', 0, 'A destination is suspended', 'A destination is suspended'),
  filter_failed: rule('critical', 0, 'The filter of a destination fails', 'A filter fails'),
  push_late: rule('warning', 5 * MINUTE, 'Changes do not go out', 'Changes do not go out'),
  push_unmapped: rule('warning', 0, 'Submissions wait for a client of the AMS', 'Submissions wait to be mapped'),
  push_dead: rule('warning', 0, 'Changes were given up', 'A change is dead'),
  push_unknown: rule('warning', 0, 'Nobody knows whether changes arrived', 'Nobody knows whether a change arrived'),
  destination_lacks: rule('warning', 0, 'A destination lacks what it took', 'A destination lacks changes'),
  reconcile_overdue: rule('warning', CATCHING_UP, 'Reconciling is overdue', 'Reconciling is overdue'),
  reconcile_failed: rule('warning', 0, 'Reconciling could not check everything', 'Reconciling could not check everything'),
  reconcile_findings: rule('warning', 0, 'Reconciling found differences', 'Reconciling found differences'),
} as const satisfies Record<string, AlarmRule>

/** What a person does about an alarm whose text tells only what happened. */
const advice: Partial<Record<keyof typeof rules, string>> = {
  backup_overdue: 'the log of `serve` tells more (`backup`)',
  clock_skew: 'set it by NTP',
  clocks_disagree: 'set the wrong one by NTP (`submission-mirror doctor` compares them)',
  disk_space: 'make room, lower RETENTION_DAYS, or use a larger volume',
  document_host_unnamed: 'if you trust the host, add it: in the settings file, then reload; in the environment (.env), then restart',
  document_too_long: 'raise DOCUMENTS_MAX_BYTES, or take them from the service',
  documents_full: 'raise DOCUMENTS_TOTAL_BYTES, or purge submissions',
  filter_failed: 'mend `filter` in the settings, and reload',
  items_unreadable: 'upgrade to a release that understands them, or show them to the service',
  record_conflict: 'show them to the service, or run `submission-mirror reconcile`, which keeps what the service shows',
  retention_late: 'the log of `serve` tells why (`retention`)',
  retention_waits: 'put the clock or RETENTION_DAYS right, or let one turn take place with `submission-mirror retention run --confirm`',
}

/** @returns what an alarm is about, and what to do. */
export function withAdvice(name: AlarmName, text: string): string {
  const what = advice[name]
  return what === undefined ? text : `${text}; ${what}`
}

/** The name of an alarm. */
export type AlarmName = keyof typeof rules

export const alarmNames = Object.keys(rules) as readonly AlarmName[]

/** Whether an alarm is known here: it may have been stored by a newer release. */
export function isAlarm(name: string | null): name is AlarmName {
  return name !== null && Object.hasOwn(rules, name)
}

/**
 * An alarm that returns within this time continues. Its end is reported to alert recipients only afterwards, so that an alarm that comes and
 * goes doesn't send message after message.
 */
export const SETTLE_MS = 5 * MINUTE

/** @returns the section of the runbook, as a relative link. */
export function runbookOf(name: AlarmName): string {
  return `docker/runbook.md#${rules[name].runbook.toLowerCase().replaceAll(' ', '-')}`
}

function rule(severity: AlarmSeverity, forMs: number, title: string, runbook: string): AlarmRule {
  return { severity, forMs, title, runbook }
}
