/**
 * Receives measurements from all stages. In /metrics, each name has the prefix `submission_mirror_`. `ops/metrics`
 * describes each metric.
 */
export interface Observer {
  count(name: CounterName, labels?: Labels, by?: number): void
  time(name: TimerName, seconds: number, labels?: Labels): void
  set(name: GaugeName, value: number, labels?: Labels): void
  /** Records a step of a delivery's trace. Undefined if tracing is off; callers then skip trace data. */
  readonly trace?: (step: TracedStep) => void
}

export interface DeliveryName {
  readonly account: string
  readonly deliveryId: string
}

/** One traced step of processing a delivery. */
export interface TracedStep {
  /**
   * `delivery`: from arrival to answer. `apply`: write into the mirror. `push`: attempt to send a change
   * to a destination.
   */
  readonly name: 'delivery' | 'apply' | 'push'
  readonly of: DeliveryName
  /** Other deliveries that may have caused this step. */
  readonly orOf?: readonly DeliveryName[]
  readonly startMs: number
  readonly endMs: number
  readonly failed: boolean
  /** Names, states, and numbers only. Must not contain personal data or text from other systems. */
  readonly attributes: Readonly<Record<string, string | number>>
}

export type Labels = Readonly<Record<string, string>>

export type CounterName =
  | 'connections_rejected_total' // labels: reason
  | 'deliveries_total' // labels: account, answer (204, 401, …)
  | 'deliveries_differing_total' // labels: account, first (kept, removed)
  | 'deliveries_rejected_total' // labels: account, reason
  | 'deliveries_verified_total' // labels: account, secret (its position in the settings, from 1)
  | 'deliveries_settled_total' // labels: account, state (done, aside, retry, dead)
  | 'applied_rows_total' // labels: account, entity, operation, cause
  | 'documents_total' // labels: account, outcome (stored, failed)
  | 'conflicts_total' // labels: account, entity
  | 'unreadable_items_total' // labels: account, read
  | 'token_mints_total' // labels: account, outcome (ok, refused, failed)
  | 'upstream_requests_total' // labels: account, class (ok, auth, gone, throttled, rejected, …)
  | 'feed_reads_total' // labels: account, read, outcome
  | 'stalled_cursors_total' // labels: account, read
  | 'invalid_cursors_total' // labels: account, read
  | 'full_reads_total' // labels: account, read
  | 'sweeps_total' // labels: account
  | 'lost_webhooks_total' // labels: account, entity
  | 'reloads_total' // labels: outcome (applied, unchanged, refused)
  | 'discovery_probes_total' // labels: account, outcome (ok, limited, or the class of the failure)
  | 'discovered_submissions_total' // labels: account
  | 'alert_messages_total' // labels: operator, outcome (sent, failed, skipped)
  | 'push_verified_total' // labels: destination, result (has, lacks, differs, undetermined)
  | 'push_attempts_total' // labels: destination, outcome (delivered, failed, throttled, unknown, …)

export type TimerName =
  | 'acknowledge_seconds' // labels: account
  | 'inbox_commit_seconds'
  | 'apply_commit_seconds'
  | 'delivery_to_mirror_seconds'
  | 'record_lag_seconds'
  | 'upstream_seconds' // labels: account, operation
  | 'push_seconds' // labels: destination
  | 'push_lag_seconds' // labels: destination

export type GaugeName =
  | 'inbox_append_rows' // rows in the last group commit
  | 'upstream_rate' // labels: account. Allowed requests per second.
  | 'upstream_circuit_open' // labels: account
  | 'push_circuit_open' // labels: destination
  | 'clock_skew_seconds' // labels: account. Seconds that the service's clock is ahead of ours.
  | 'disk_free_bytes'
  | 'disk_size_bytes'

/** Discards all measurements. For commands and tests. */
export const silentObserver: Observer = { count() {}, time() {}, set() {} }
