import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { updatedOften } from './storage.ts'

/** When what is read from the service: feeds, state, ids, documents and probed paths; and their results. */
export const reads: Migration = {
  version: 4,
  name: 'reads',
  oldestCompatible: 1,
  statements: (t) => [...accounts(t), ...scheduled(t), ...evidence(t), ...(t.kind === 'postgres' ? STORAGE : [])],
}

function accounts(t: ColumnTypes): string[] {
  return [
    `create table sync_accounts (
      account ${t.id} not null primary key,
      state text not null, reason text, since ${t.time}, retry_at ${t.time}, refused_with text, brokerage text, client_id ${t.id}, label text, active_states text,
      sweep_wanted ${t.int} not null, swept_at ${t.time}, events_unreadable_at ${t.time},
      identity_error text, identity_failing_since ${t.time},
      throttled_since ${t.time}, throttled_until ${t.time}, throttled_reason text)`,
    `create table sync_last_uses (
      account ${t.id} not null, kind ${t.id} not null, key ${t.id} not null, last_used_at ${t.time} not null,
      primary key (account, kind, key))`,
    `create table sync_reads_off (
      account ${t.id} not null, read ${t.id} not null, cause text not null, reason text not null, since ${t.time} not null, retry_at ${t.time},
      primary key (account, read))`,
    `create table sync_purged (
      account ${t.id} not null, submission_id ${t.id} not null, purged_at ${t.time} not null, finished_at ${t.time},
      primary key (account, submission_id))`,
  ]
}

function scheduled(t: ColumnTypes): string[] {
  return [
    `create table sync_reads (
      account ${t.id} not null, submission_id ${t.id} not null, read ${t.id} not null, id ${t.id} not null,
      named_for ${t.id}, via text, first_seen_at ${t.time}, is_final ${t.int},
      rank ${t.int} not null, due_at ${t.time}, due_since ${t.time}, lease_token ${t.id}, request_no ${t.int} not null,
      cursor text, cursor_no ${t.int} not null, issued_no ${t.int} not null, applied_no ${t.int} not null,
      active_at ${t.time}, refused_cursor text, failures ${t.int} not null, not_found ${t.int} not null, stalled_feed_reads ${t.int} not null, error text,
      last_read_at ${t.time}, last_changed_at ${t.time}, last_full_read_at ${t.time}, full_read_due_at ${t.time},
      content_hash text, hash_no ${t.int},
      primary key (account, submission_id, id, read))`,
    'create index sync_reads_due on sync_reads (account, rank, due_at)',
    'create index sync_reads_due_since on sync_reads (account, rank, due_since) where due_since is not null',
    'create index sync_reads_freshness on sync_reads (account, read, last_read_at)',
    'create index sync_reads_named on sync_reads (account, named_for, read) where named_for is not null',
    `create table sync_documents (
      account ${t.id} not null, document_key ${t.id} not null, due_at ${t.time}, lease_token ${t.id}, failures ${t.int} not null,
      failing_since ${t.time}, refused_over_bytes ${t.int},
      primary key (account, document_key))`,
    'create index sync_documents_due on sync_documents (account, due_at)',
    'create index sync_documents_leased on sync_documents (lease_token) where lease_token is not null',
    'create index sync_documents_unfetched on sync_documents (account, document_key) where due_at is null and failures > 0',
    'create index sync_documents_refused on sync_documents (refused_over_bytes) where refused_over_bytes is not null',
    `create table sync_shared_documents (
      account ${t.id} not null, document_key ${t.id} not null, submission_id ${t.id} not null,
      primary key (account, document_key, submission_id))`,
    `create table sync_path_reads (
      account ${t.id} not null, submission_id ${t.id} not null, name ${t.id} not null, path ${t.id} not null,
      due_at ${t.time} not null, lease_token ${t.id}, outcome text, failures ${t.int} not null, error text, last_read_at ${t.time},
      ids ${t.int} not null, found ${t.int} not null, raw text, raw_bytes ${t.int},
      primary key (account, submission_id, name, path))`,
    'create index sync_path_reads_due on sync_path_reads (account, name, due_at)',
    'create index sync_path_reads_fresh on sync_path_reads (account, path, name, last_read_at)',
    'create index sync_path_reads_failing on sync_path_reads (account, name) where failures > 0',
    'create index sync_path_reads_leased on sync_path_reads (lease_token) where lease_token is not null',
  ]
}

function evidence(t: ColumnTypes): string[] {
  return [
    `create table sync_arrivals (
      account ${t.id} not null, entity ${t.id} not null, submission_id ${t.id} not null, record_id ${t.id} not null, way ${t.id} not null,
      first_at ${t.time} not null,
      primary key (account, entity, submission_id, record_id, way))`,
    'create index sync_arrivals_feed on sync_arrivals (account, way, first_at)',
    `create table arrival_counts (
      account ${t.id} not null, hour ${t.time} not null, entity ${t.id} not null,
      webhook ${t.int} not null, poll ${t.int} not null, backfill ${t.int} not null, reconcile ${t.int} not null, lost ${t.int} not null,
      primary key (account, hour, entity))`,
    `create table sync_conflicts (
      account ${t.id} not null, entity ${t.id} not null, submission_id ${t.id} not null, record_id ${t.id} not null, conflict_key ${t.id} not null,
      fields text not null, kept text not null, refused text not null, via text not null, seen_at ${t.time} not null,
      primary key (account, entity, submission_id, record_id, conflict_key))`,
    `create table sync_unreadable (
      account ${t.id} not null, submission_id ${t.id} not null, read ${t.id} not null, conflict_key ${t.id} not null,
      raw text not null, seen_at ${t.time} not null,
      primary key (account, submission_id, read, conflict_key))`,
    // Conflicts are kept forever; new ones are looked up often.
    'create index sync_conflicts_seen on sync_conflicts (account, seen_at)',
    'create index sync_unreadable_seen on sync_unreadable (account, seen_at)',
    `create table sync_api_changes (
      account ${t.id} not null, resource ${t.id} not null, path ${t.id} not null, kind ${t.id} not null, type ${t.id} not null,
      first_seen_at ${t.time} not null, last_seen_at ${t.time} not null, answers ${t.int} not null,
      primary key (account, resource, path, kind, type))`,
  ]
}

const STORAGE = ['sync_reads', 'sync_documents'].map(updatedOften)
