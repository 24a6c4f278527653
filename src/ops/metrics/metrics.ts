import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { CounterName, GaugeName, Labels, Observer, TimerName } from '../../base/observer.ts'

/** Prefix of all metrics of the product. Those of the process keep their usual names (`process_…`, `nodejs_…`). */
export const PREFIX = 'submission_mirror_'

interface Definition {
  readonly help: string
  readonly labels: readonly string[]
}

const counters: Readonly<Record<CounterName, Definition>> = {
  connections_refused_total: {
    help: 'Connections to the receiver that were closed or not taken, by reason: too_many, full, banned, wasted, slow_header, slow_body, unread_answer, pipelined, small_chunks, long_header, tls, no_http.',
    labels: ['reason'],
  },
  deliveries_total: { help: 'Webhook deliveries by the HTTP status they were answered with.', labels: ['account', 'answer'] },
  deliveries_differing_total: {
    help: 'Well-signed deliveries whose id was stored before with another body (first: kept), or with one that retention has removed (removed).',
    labels: ['account', 'first'],
  },
  deliveries_rejected_total: { help: 'Deliveries that were refused, by reason.', labels: ['account', 'reason'] },
  deliveries_verified_total: {
    help: 'Deliveries whose signature is good, by the position of the secret in the settings (from 1).',
    labels: ['account', 'secret'],
  },
  deliveries_settled_total: { help: 'Deliveries by what became of them: done, aside, retry, dead.', labels: ['account', 'state'] },
  applied_rows_total: {
    help: 'Rows of the change log, by table, operation and cause.',
    labels: ['account', 'entity', 'operation', 'cause'],
  },
  documents_total: { help: 'Attempts to fetch documents by outcome: stored, failed.', labels: ['account', 'outcome'] },
  conflicts_total: {
    help: 'Records that differ from their first version; both versions are kept in sync_conflicts.',
    labels: ['account', 'entity'],
  },
  unreadable_items_total: {
    help: 'Items of feeds that could not be understood; each is kept in sync_unreadable.',
    labels: ['account', 'read'],
  },
  token_mints_total: { help: 'Token exchanges by outcome: ok, refused, failed.', labels: ['account', 'outcome'] },
  upstream_requests_total: {
    help: 'Requests to the service by class: ok, auth, gone, throttled, rejected, unavailable, oversized, network.',
    labels: ['account', 'class'],
  },
  walks_total: { help: 'Reads of feeds and of state by outcome.', labels: ['account', 'read', 'outcome'] },
  stalled_cursors_total: { help: 'Walks that ended because the cursors of the service led nowhere.', labels: ['account', 'read'] },
  invalid_cursors_total: {
    help: 'Cursors that the service refused; the feed was then read from the beginning.',
    labels: ['account', 'read'],
  },
  replays_total: { help: 'Feeds read from the beginning to the end.', labels: ['account', 'read'] },
  sweeps_total: { help: 'Sweeps over all active submissions, requested by deliveries that name none.', labels: ['account'] },
  lost_webhooks_total: {
    help: 'Events and messages found in a feed and announced by no webhook within 15 minutes; backfill excluded.',
    labels: ['account', 'entity'],
  },
  reloads_total: {
    help: 'Reloads of the settings, by outcome: applied, unchanged, refused (invalid settings; nothing changed).',
    labels: ['outcome'],
  },
  discovery_probes_total: {
    help: 'Probes of paths for ids of submissions, by outcome: ok, limited (more new ones than one answer may bring in), auth, gone, throttled, rejected, unavailable, oversized, network.',
    labels: ['account', 'outcome'],
  },
  discovered_submissions_total: { help: 'Submissions that became known by probing.', labels: ['account'] },
  operator_messages_total: {
    help: 'Attempts to tell an operator of an alarm, by outcome: sent, failed (another attempt follows), given_up.',
    labels: ['operator', 'outcome'],
  },
  push_attempts_total: {
    help: 'Attempts to deliver a change to a destination, by outcome: delivered, failed, unknown, dead, unmapped, stop, skipped (nothing to send).',
    labels: ['destination', 'outcome'],
  },
}

const timers: Readonly<Record<TimerName, Definition & { readonly buckets: readonly number[] }>> = {
  acknowledge_seconds: {
    help: 'From the arrival of a delivery to its answer.',
    labels: ['account'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 8, 10],
  },
  inbox_commit_seconds: {
    help: 'Group commits of deliveries.',
    labels: [],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
  },
  apply_commit_seconds: {
    help: 'Transactions that apply deliveries or pages to the mirror.',
    labels: [],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5],
  },
  delivery_to_mirror_seconds: {
    help: 'From the arrival of a delivery to its rows in the mirror.',
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600],
  },
  record_lag_seconds: {
    help: 'From when an event or message happened, as the service says, to its row in the mirror; backfill excluded.',
    labels: [],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900, 3600, 86400],
  },
  upstream_seconds: {
    help: 'Requests to the service, by operation.',
    labels: ['account', 'operation'],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
  },
  push_seconds: {
    help: 'Requests to a destination, or drops of files.',
    labels: ['destination'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60],
  },
  push_lag_seconds: {
    help: 'From the change in the mirror to its delivery; snapshots excluded.',
    labels: ['destination'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60, 300, 3600, 86400],
  },
}

const gauges: Readonly<Record<GaugeName, Definition>> = {
  inbox_append_rows: { help: 'Deliveries in the last group commit.', labels: [] },
  upstream_rate: { help: 'Requests a second that this process allows itself at present.', labels: ['account'] },
  upstream_circuit_open: { help: '1 while requests to the service are suspended after repeated failures.', labels: ['account'] },
  push_circuit_open: { help: '1 while requests to the destination are suspended after repeated failures.', labels: ['destination'] },
  clock_skew_seconds: { help: "How far the service's clock is ahead of this machine's; negative when it is behind.", labels: ['account'] },
  disk_free_bytes: {
    help: 'Free bytes of the volume of the SQLite database, as seen by the process that evaluates alarms.',
    labels: [],
  },
  disk_size_bytes: { help: 'Size of that volume.', labels: [] },
}

/** The metrics of this process, fed by the stages through `observer`. */
export interface Metrics {
  readonly registry: Registry
  readonly observer: Observer
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const counting = mapValues(counters, (name, d) => new Counter({ ...metric(name, d), registers: [registry] }))
  const timing = mapValues(timers, (name, d) => new Histogram({ ...metric(name, d), buckets: [...d.buckets], registers: [registry] }))
  const setting = mapValues(gauges, (name, d) => {
    const gauge = new Gauge({ ...metric(name, d), registers: [registry] })
    // A gauge without labels would start at 0, which nobody has measured.
    if (d.labels.length === 0) gauge.remove()
    return gauge
  })
  const observer: Observer = {
    count: (name, labels: Labels = {}, by = 1) => counting[name].inc(labels, by),
    time: (name, seconds, labels: Labels = {}) => timing[name].observe(labels, seconds),
    set: (name, value, labels: Labels = {}) => setting[name].set(labels, value),
  }
  return { registry, observer }
}

function metric(name: string, definition: Definition): { name: string; help: string; labelNames: string[] } {
  return { name: `${PREFIX}${name}`, help: definition.help, labelNames: [...definition.labels] }
}

function mapValues<K extends string, V, W>(record: Readonly<Record<K, V>>, make: (key: K, value: V) => W): Record<K, W> {
  const made = Object.entries<V>(record).map(([key, value]) => [key, make(key as K, value)])
  return Object.fromEntries(made) as Record<K, W>
}
