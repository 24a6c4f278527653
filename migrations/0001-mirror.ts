import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** The mirror, its change log, and the internal tables of receiving and polling. */
export const mirror: Migration = {
  version: 1,
  name: 'mirror',
  oldestCompatible: 1,
  statements: (t) => [...publicTables(t), ...internalTables(t), ...views(t)],
}

function publicTables(t: ColumnTypes): string[] {
  return [
    `create table submissions (
      account text not null, submission_id text not null,
      insured_name text, lines ${t.json}, effective_date ${t.date}, state text,
      marketing_status text, marketing_hint text, form_fill_active ${t.bool},
      tracked_at ${t.time} not null, tracked_via text not null,
      last_event_at ${t.time}, last_message_at ${t.time}, unreachable_since ${t.time},
      raw ${t.raw},
      primary key (account, submission_id))`,
    `create table market_events (
      account text not null, submission_id text not null, event_id text not null,
      type text not null, occurred_at ${t.time} not null,
      market_name text, market_lines ${t.json}, lane_id text, category text, status text, status_label text, detail text,
      first_seen_at ${t.time} not null, first_seen_via text not null,
      raw ${t.raw} not null,
      primary key (account, submission_id, event_id))`,
    'create index market_events_timeline on market_events (account, submission_id, occurred_at, event_id)',
    `create table thread_messages (
      account text not null, submission_id text not null, message_id text not null,
      channel text not null, direction text not null, kind text not null, occurred_at ${t.time} not null,
      subject text, body_text text not null, from_address text, to_addresses ${t.json}, in_reply_to text,
      first_seen_at ${t.time} not null, first_seen_via text not null,
      raw ${t.raw} not null,
      primary key (account, submission_id, message_id))`,
    'create index thread_messages_timeline on thread_messages (account, submission_id, occurred_at, message_id)',
    `create table thread_attachments (
      account text not null, submission_id text not null, message_id text not null, position ${t.int} not null,
      name text, download_path text, document_key text,
      raw ${t.raw} not null,
      primary key (account, submission_id, message_id, position))`,
    `create table lanes (
      account text not null, submission_id text not null, lane_id text not null,
      market_id text, market_name text, program text, program_id text, program_category text, lines ${t.json},
      status text, status_label text, submit_ready ${t.bool}, gapped ${t.bool}, unmet_labels ${t.json}, bound ${t.bool}, chip text,
      carrier_api_session_ids ${t.json}, next_step text,
      state_source text not null, state_event_id text, state_occurred_at ${t.time}, gone_at ${t.time},
      raw ${t.raw},
      primary key (account, submission_id, lane_id))`,
    `create table quotes (
      account text not null, submission_id text not null, lane_id text not null, quote_id text not null,
      premium_display text, total_cents ${t.int}, lines ${t.json}, is_revision ${t.bool}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id, quote_id))`,
    `create table source_offers (
      account text not null, submission_id text not null, lane_id text not null, presentation_id text not null,
      kind text, label text, document_url text, filename text, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, lane_id, presentation_id))`,
    `create table quote_history (
      account text not null, submission_id text not null, history_key text not null,
      market_name text, program text, outcome text, observed_at ${t.time}, gone_at ${t.time},
      raw ${t.raw} not null,
      primary key (account, submission_id, history_key))`,
    `create table changes (
      seq ${t.int} not null primary key,
      account text not null, submission_id text, entity text not null, entity_id text not null,
      operation text not null, changed_at ${t.time} not null, cause text not null,
      before ${t.json}, after ${t.json})`,
    `create table mirror_info (
      id ${t.int} not null primary key check (id = 1),
      schema_version ${t.int} not null, log_epoch text not null, first_seq ${t.int} not null, last_seq ${t.int} not null)`,
  ]
}

function internalTables(t: ColumnTypes): string[] {
  return [
    `create table sync_inbox (
      inbox_id ${t.serial},
      account text not null, delivery_id text not null, received_at ${t.time} not null, secret ${t.int} not null,
      state text not null, attempts ${t.int} not null, available_at ${t.time} not null, lease_token text,
      submission_id text, kind text, error text, settled_at ${t.time},
      headers text not null, body ${t.bytes},
      unique (account, delivery_id))`,
    "create index sync_inbox_ready on sync_inbox (available_at, inbox_id) where state = 'ready'",
    "create index sync_inbox_stopped on sync_inbox (account, state, inbox_id) where state in ('aside', 'dead')",
    `create table sync_rejected (
      rejected_id ${t.serial},
      account text, path text not null, received_at ${t.time} not null, address text not null, reason text not null,
      headers text not null, body ${t.bytes}, replayed_at ${t.time})`,
    `create table sync_reads (
      account text not null, submission_id text not null, read text not null,
      rank ${t.int} not null, due_at ${t.time} not null, lease_token text, wake_no ${t.int} not null,
      cursor text, cursor_no ${t.int} not null, issued_no ${t.int} not null, applied_no ${t.int} not null,
      active_at ${t.time}, refused_cursor text, failures ${t.int} not null, misses ${t.int} not null, stalls ${t.int} not null, error text,
      last_read_at ${t.time}, last_changed_at ${t.time}, last_replay_at ${t.time}, replay_due_at ${t.time},
      primary key (account, submission_id, read))`,
    'create index sync_reads_due on sync_reads (account, rank, due_at)',
    'create index sync_reads_freshness on sync_reads (account, read, last_read_at)',
    `create table sync_accounts (
      account text not null primary key,
      state text not null, reason text, since ${t.time}, retry_at ${t.time}, brokerage text, client_id text,
      sweep_wanted ${t.int} not null, swept_at ${t.time}, events_unreadable_at ${t.time})`,
    `create table sync_arrivals (
      account text not null, entity text not null, submission_id text not null, record_id text not null, way text not null,
      first_at ${t.time} not null,
      primary key (account, entity, submission_id, record_id, way))`,
    'create index sync_arrivals_feed on sync_arrivals (account, way, first_at)',
    `create table sync_conflicts (
      account text not null, entity text not null, submission_id text not null, record_id text not null, evidence_key text not null,
      fields text not null, kept text not null, refused text not null, via text not null, seen_at ${t.time} not null,
      primary key (account, entity, submission_id, record_id, evidence_key))`,
    `create table sync_unreadable (
      account text not null, submission_id text not null, read text not null, evidence_key text not null,
      raw text not null, seen_at ${t.time} not null,
      primary key (account, submission_id, read, evidence_key))`,
    `create table sync_processes (
      process_id text not null primary key, role text not null, version text not null,
      started_at ${t.time} not null, seen_at ${t.time} not null)`,
    `create table sync_counters (
      account text not null, name text not null, label text not null, value ${t.int} not null,
      primary key (account, name, label))`,
  ]
}

function views(t: ColumnTypes): string[] {
  const yes = t.kind === 'sqlite' ? '1' : 'true'
  return [
    `create view freshness as
      select account, submission_id, read, last_read_at, last_changed_at, last_replay_at from sync_reads`,
    `create view submission_overview as
      select s.account, s.submission_id, s.insured_name, s.lines, s.effective_date, s.state,
        s.marketing_status, s.marketing_hint, s.form_fill_active, s.last_event_at, s.last_message_at, s.unreachable_since,
        r.last_read_at as state_read_at,
        (select count(*) from lanes l where l.account = s.account and l.submission_id = s.submission_id and l.gone_at is null) as lane_count,
        (select count(*) from lanes l where l.account = s.account and l.submission_id = s.submission_id and l.gone_at is null and l.bound = ${yes}) as bound_lane_count,
        (select count(*) from quotes q where q.account = s.account and q.submission_id = s.submission_id and q.gone_at is null) as quote_count,
        (select min(q.total_cents) from quotes q where q.account = s.account and q.submission_id = s.submission_id and q.gone_at is null) as lowest_quote_cents,
        (select count(*) from market_events e where e.account = s.account and e.submission_id = s.submission_id) as event_count,
        (select count(*) from thread_messages m where m.account = s.account and m.submission_id = s.submission_id) as message_count
      from submissions s
      left join sync_reads r on r.account = s.account and r.submission_id = s.submission_id and r.read = 'requirements'`,
    `create view activity_timeline as
      select account, submission_id, occurred_at, 'market_events' as entity, event_id as record_id, type as kind, market_name as party,
        status_label as summary, detail as text, first_seen_at, first_seen_via
      from market_events
      union all
      select account, submission_id, occurred_at, 'thread_messages', message_id, kind, from_address, subject, body_text, first_seen_at, first_seen_via
      from thread_messages`,
    `create view quote_board as
      select q.account, q.submission_id, s.insured_name, q.lane_id, l.market_name, l.program, l.program_category, l.status, l.status_label,
        l.chip, l.bound, q.quote_id, q.premium_display, q.total_cents, q.lines, q.is_revision
      from quotes q
      left join lanes l on l.account = q.account and l.submission_id = q.submission_id and l.lane_id = q.lane_id
      left join submissions s on s.account = q.account and s.submission_id = q.submission_id
      where q.gone_at is null`,
  ]
}
