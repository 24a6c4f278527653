/** Receives measurements from all stages. Names equal those in /metrics without the prefix `submission_mirror_`; see `ops/metrics`. */
export interface Observer {
  count(name: CounterName, labels?: Labels, by?: number): void
  time(name: TimerName, seconds: number, labels?: Labels): void
  set(name: GaugeName, value: number, labels?: Labels): void
  /** Records a step of a delivery's trace. Undefined if tracing is off, so that no trace data is looked up. */
  readonly trace?: (step: TracedStep) => void
}

export interface DeliveryName {
  readonly account: string
  readonly deliveryId: string
}

/** One traced step of processing a delivery. */
export interface TracedStep {
  /** `delivery`: from arrival to answer. `apply`: write into the mirror. `push`: attempt to send a change to a destination. */
  readonly name: 'delivery' | 'apply' | 'push'
  readonly of: DeliveryName
  /** Other possible causes of this step. */
  readonly orOf?: readonly DeliveryName[]
  readonly startMs: number
  readonly endMs: number
  readonly failed: boolean
  /** Names, states and numbers; nothing personal and no foreign text. */
  readonly attributes: Readonly<Record<string, string | number>>
}

export type Labels = Readonly<Record<string, string>>

export type CounterName =
  | 'connections_rejected_total' // reason
  | 'deliveries_total' // account, answer (204, 401, …)
  | 'deliveries_differing_total' // account, first (kept, removed)
  | 'deliveries_rejected_total' // account, reason
  | 'deliveries_verified_total' // account, secret (its position in the settings, from 1)
  | 'deliveries_settled_total' // account, state (done, aside, retry, dead)
  | 'applied_rows_total' // account, entity, operation, cause
  | 'documents_total' // account, outcome (stored, failed)
  | 'conflicts_total' // account, entity
  | 'unreadable_items_total' // account, read
  | 'token_mints_total' // account, outcome (ok, refused, failed)
  | 'upstream_requests_total' // account, class (ok, auth, gone, throttled, rejected, unavailable, oversized, network)
  | 'feed_reads_total' // account, read, outcome
  | 'stalled_cursors_total' // account, read
  | 'invalid_cursors_total' // account, read
  | 'full_reads_total' // account, read
  | 'sweeps_total' // account
  | 'lost_webhooks_total' // account, entity
  | 'reloads_total' // outcome (applied, unchanged, refused)
  | 'discovery_probes_total' // account, outcome (ok, limited, or the class of the failure)
  | 'discovered_submissions_total' // account
  | 'alert_messages_total' // operator, outcome (sent, failed, given_up)
  | 'push_verified_total' // destination, result (has, lacks, differs, undetermined)
  | 'push_attempts_total' // destination, outcome (delivered, failed, throttled, unknown, dead, unmapped, stop, skipped)

export type TimerName =
  | 'acknowledge_seconds' // account
  | 'inbox_commit_seconds'
  | 'apply_commit_seconds'
  | 'delivery_to_mirror_seconds'
  | 'record_lag_seconds'
  | 'upstream_seconds' // account, operation
  | 'push_seconds' // destination
  | 'push_lag_seconds' // destination

export type GaugeName =
  | 'inbox_append_rows' // rows in the last group commit
  | 'upstream_rate' // account: requests a second now allowed
  | 'upstream_circuit_open' // account
  | 'push_circuit_open' // destination
  | 'clock_skew_seconds' // account: how far the service's clock is ahead of ours
  | 'disk_free_bytes'
  | 'disk_size_bytes'

/** For commands and tests without metrics. */
export const silentObserver: Observer = { count() {}, time() {}, set() {} }
