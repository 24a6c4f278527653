import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CounterName, GaugeName, Labels, Observer, TimerName } from '../../base/observer.ts'

/** Prefix of the product's metrics. Process metrics keep their usual names (`process_…`, `nodejs_…`). */
export const PREFIX = 'submission_mirror_'

export type Definition = readonly [help: string, labels: readonly string[]]

const counters: Readonly<Record<CounterName, Definition>> = {
  connections_rejected_total: [
    'Connections to the receiver that were closed or rejected, by reason: too_many, full, banned, wasted, slow_header, slow_body, unread_answer, pipelined, small_chunks, long_header, tls, no_http.',
    ['reason'],
  ],
  deliveries_total: ['Webhook deliveries by HTTP status.', ['account', 'answer']],
  deliveries_differing_total: [
    'Well-signed deliveries with a known id and a different body (first: kept), or a known id whose body retention has removed (removed).',
    ['account', 'first'],
  ],
  deliveries_rejected_total: ['Rejected deliveries, by reason.', ['account', 'reason']],
  deliveries_verified_total: [
    'Deliveries with a valid signature, by the position of the secret in the settings (from 1).',
    ['account', 'secret'],
  ],
  deliveries_settled_total: ['Processed deliveries, by state: done, aside, retry, dead.', ['account', 'state']],
  applied_rows_total: ['Rows of the change log, by table, operation and cause.', ['account', 'entity', 'operation', 'cause']],
  documents_total: ['Attempts to fetch documents by outcome: stored, failed.', ['account', 'outcome']],
  conflicts_total: ['Records that differ from their first version; both versions are kept in sync_conflicts.', ['account', 'entity']],
  unreadable_items_total: ['Unreadable items of feeds; each is kept in sync_unreadable.', ['account', 'read']],
  token_mints_total: ['Token exchanges by outcome: ok, refused, failed.', ['account', 'outcome']],
  upstream_requests_total: [
    'Requests to the service by class: ok, auth, gone, throttled, rejected, unavailable, oversized, network.',
    ['account', 'class'],
  ],
  feed_reads_total: ['Reads of feeds and of state by outcome.', ['account', 'read', 'outcome']],
  stalled_cursors_total: ['Feed reads that ended because the cursors of the service made no progress.', ['account', 'read']],
  invalid_cursors_total: ['Cursors that the service rejected; the feed was then re-read from the beginning.', ['account', 'read']],
  full_reads_total: ['Full re-reads of feeds.', ['account', 'read']],
  sweeps_total: ['Reads of all active submissions, requested by deliveries that named no submission.', ['account']],
  lost_webhooks_total: [
    'Events and messages in feeds that no webhook announced within WEBHOOK_LOST_AFTER; backfill excluded.',
    ['account', 'entity'],
  ],
  reloads_total: ['Reloads of the settings, by outcome: applied, unchanged, refused (invalid settings, not applied).', ['outcome']],
  discovery_probes_total: [
    'Probes of paths for submission ids, by outcome: ok, limited (more new submissions than one answer may add), auth, gone, throttled, rejected, unavailable, oversized, network.',
    ['account', 'outcome'],
  ],
  discovered_submissions_total: ['Submissions found by probing.', ['account']],
  alert_messages_total: [
    'Attempts to send an alarm to a recipient, by outcome: sent, failed (another attempt follows), skipped.',
    ['operator', 'outcome'],
  ],
  push_verified_total: ['Verified changes of a destination, by result: has, lacks, differs, undetermined.', ['destination', 'result']],
  push_attempts_total: [
    'Attempts to deliver a change to a destination, by outcome: delivered, failed, throttled, unknown (it may have arrived), dead, unmapped, stop, skipped (nothing to send).',
    ['destination', 'outcome'],
  ],
}

const timers: Readonly<Record<TimerName, readonly [...Definition, buckets: readonly number[]]>> = {
  acknowledge_seconds: [
    'Time from the arrival of a delivery to its answer.',
    ['account'],
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 8, 10],
  ],
  inbox_commit_seconds: [
    'Duration of group commits of deliveries.',
    [],
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  ],
  apply_commit_seconds: [
    'Duration of transactions that apply deliveries or pages to the mirror.',
    [],
    [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5],
  ],
  delivery_to_mirror_seconds: [
    'Time from the arrival of a delivery to its rows in the mirror.',
    [],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600],
  ],
  record_lag_seconds: [
    "Time from an event or message, by the service's clock, to its row in the mirror; backfill excluded.",
    [],
    [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900, 3600, 86400],
  ],
  upstream_seconds: [
    'Duration of requests to the service, by operation.',
    ['account', 'operation'],
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
  ],
  push_seconds: [
    'Duration of requests to a destination, or of writing files.',
    ['destination'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
  ],
  push_lag_seconds: [
    'Time from the change in the mirror to its delivery; without snapshots and resent changes.',
    ['destination'],
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 3600, 86400],
  ],
}

export function bucketsOf(name: TimerName): readonly number[] {
  return timers[name][2]
}

const gauges: Readonly<Record<GaugeName, Definition>> = {
  inbox_append_rows: ['Deliveries in the last group commit.', []],
  upstream_rate: ['Current rate limit of this process, in requests per second.', ['account']],
  upstream_circuit_open: ['1 while requests to the service wait after repeated failures.', ['account']],
  push_circuit_open: ['1 while requests to the destination wait after repeated failures.', ['destination']],
  clock_skew_seconds: ["How far the service's clock is ahead of this machine's; negative when it is behind.", ['account']],
  disk_free_bytes: ['Free bytes of the volume of the SQLite database, as seen by the process that evaluates alarms.', []],
  disk_size_bytes: ['Size of the volume of the SQLite database, in bytes.', []],
}

/** Metrics of this process. The stages report through `observer`. */
export interface Metrics {
  readonly registry: Registry
  readonly observer: Observer
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const counting = mapValues(counters, (name, defined) => new Counter(metric(registry, name, defined)))
  const timing = mapValues(
    timers,
    (name, [help, labels, buckets]) => new Histogram({ ...metric(registry, name, [help, labels]), buckets: [...buckets] }),
  )
  const setting = mapValues(gauges, (name, defined) => {
    const gauge = new Gauge(metric(registry, name, defined))
    // Remove the initial value 0, because nothing was measured yet.
    if (defined[1].length === 0) gauge.remove()
    return gauge
  })
  const observer: Observer = {
    count: (name, labels: Labels = {}, by = 1) => counting[name].inc(labels, by),
    time: (name, seconds, labels: Labels = {}) => timing[name].observe(labels, seconds),
    set: (name, value, labels: Labels = {}) => setting[name].set(labels, value),
  }
  return { registry, observer }
}

export function metric(registry: Registry, name: string, [help, labels]: Definition) {
  return { name: `${PREFIX}${name}`, help, labelNames: [...labels], registers: [registry] }
}

export function mapValues<K extends string, V, W>(record: Readonly<Record<K, V>>, make: (key: K, value: V) => W): Record<K, W> {
  const made = Object.entries<V>(record).map(([key, value]) => [key, make(key as K, value)])
  return Object.fromEntries(made) as Record<K, W>
}
