import type { AlarmSeverity } from '../../store/schema/tables-alarms.ts'

const S = 1_000
const MINUTE = 60 * S
/** So long the program has, after it was down, for what it missed. */
const CATCHING_UP = 15 * MINUTE

/** What is known of an alarm before it ever fires. */
export interface AlarmRule {
  readonly severity: AlarmSeverity
  /** For how long it must be so without a break before anybody is told. */
  readonly forMs: number
  /** What it is about, in a few words: for lists, rules and boards. */
  readonly title: string
  /** The heading in docker/runbook.md that says what to do. */
  readonly runbook: string
}

/**
 * Every alarm there is, by its name: part of the contract, as the names of metrics are. Each ends when it has not been so for
 * `CLEAR_AFTER_MS`: one that comes and goes does not fire again and again. docker/runbook.md tells when each fires.
 */
export const rules = {
  store_unavailable: rule('critical', MINUTE, 'The database cannot be written', 'Deliveries cannot be stored'),
  disk_space: rule('critical', 0, 'The disk is nearly full', 'The disk fills'),
  account_stopped: rule('critical', 0, 'An account is parked or paused', 'An account is parked'),
  webhook_silence: rule('critical', 0, 'No webhook comes any more', 'Webhooks are silent'),
  webhook_loss: rule('warning', 0, 'Many webhooks are lost', 'Webhooks are lost'),
  deliveries_refused: rule('warning', 0, 'Deliveries are refused and none is taken', 'Deliveries are refused'),
  delivery_too_large: rule('warning', 0, 'A delivery was too large', 'A delivery is too large'),
  inbox_backlog: rule('warning', 5 * MINUTE, 'Deliveries wait to be worked', 'Deliveries wait'),
  inbox_dead: rule('warning', 0, 'Deliveries were given up', 'A delivery is dead'),
  service_unavailable: rule('warning', 5 * MINUTE, 'The service answers no read', 'The service does not answer'),
  reads_overdue: rule('warning', 10 * MINUTE, 'Reads come too late', 'Reads come too late'),
  state_stale: rule('warning', CATCHING_UP, 'Some submission is not fresh', 'A submission looks stale'),
  clock_skew: rule('warning', 5 * MINUTE, 'The clock is wrong', 'The clock is wrong'),
  record_conflict: rule('warning', 0, 'A record contradicts itself', 'A record contradicts itself'),
  items_unreadable: rule('warning', 0, 'Items cannot be read', 'Items cannot be read'),
  destination_stopped: rule('critical', 0, 'A destination is stopped', 'A destination is parked or disabled'),
  push_late: rule('warning', 5 * MINUTE, 'Changes do not go out', 'Changes do not go out'),
  push_unmapped: rule('warning', 0, 'Submissions wait for a client of the AMS', 'Submissions wait to be mapped'),
  push_dead: rule('warning', 0, 'Changes were given up', 'A change is dead'),
  push_unknown: rule('warning', 0, 'Nobody knows whether changes arrived', 'Nobody knows whether a change arrived'),
  reconcile_overdue: rule('warning', CATCHING_UP, 'Reconciling is overdue', 'Reconciling is overdue'),
  reconcile_failed: rule('warning', 0, 'Reconciling could not check everything', 'Reconciling could not check everything'),
  reconcile_findings: rule('warning', 0, 'Reconciling found differences', 'Reconciling found differences'),
} as const satisfies Record<string, AlarmRule>

/** The name of an alarm. */
export type AlarmName = keyof typeof rules

export const alarmNames = Object.keys(rules) as readonly AlarmName[]

/** What has stopped must stay so for so long before it counts as over. */
export const CLEAR_AFTER_MS = 5 * MINUTE

/** @returns the place of the runbook that says what to do, as a relative link. */
export function runbookOf(name: AlarmName): string {
  return `docker/runbook.md#${rules[name].runbook.toLowerCase().replaceAll(' ', '-')}`
}

function rule(severity: AlarmSeverity, forMs: number, title: string, runbook: string): AlarmRule {
  return { severity, forMs, title, runbook }
}
