import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { updatedOften } from './storage.ts'

/** What each destination must get: the outbox with its streams, and the map to AMS clients. */
export const push: Migration = {
  version: 5,
  name: 'push',
  oldestCompatible: 1,
  statements: (t) => [...destinations(t), ...outbox(t), ...verifications(t), ...(t.kind === 'postgres' ? STORAGE : [])],
}

function destinations(t: ColumnTypes): string[] {
  const isSqlite = t.kind === 'sqlite'
  // People also insert rows by hand, with the client only.
  const now = isSqlite ? "(strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'))" : 'clock_timestamp()'
  const isObject = isSqlite
    ? "fields is null or case when json_valid(fields) then json_type(fields) = 'object' else 0 end"
    : "jsonb_typeof(fields) = 'object'"
  return [
    `create table push_map (
      destination ${t.id} not null, account ${t.id} not null, submission_id ${t.id} not null,
      client text not null, policy text, fields ${t.json}, mapped_at ${t.time} not null default ${now},
      mapped_via text not null default 'sql',
      primary key (destination, account, submission_id),
      constraint push_map_fields check (${isObject}))`,
    `create table sync_destinations (
      destination ${t.id} not null primary key,
      state text not null, reason text, since ${t.time}, cursor ${t.int} not null, log_epoch ${t.id} not null,
      retry_at ${t.time}, failures ${t.int} not null, refused_with text, snapshot ${t.raw}, last_success_at ${t.time},
      verified_at ${t.time}, verified ${t.raw},
      filtered ${t.int} not null default 0, filtered_from ${t.int}, filter_error text, filter_failed_at ${t.time})`,
    `create table sync_remote_ids (
      destination ${t.id} not null, account ${t.id} not null, entity ${t.id} not null, entity_id ${t.id} not null,
      remote_id text not null, stored_at ${t.time} not null,
      primary key (destination, account, entity, entity_id))`,
    `create table sync_passed (
      destination ${t.id} not null, account ${t.id} not null, entity ${t.id} not null, entity_id ${t.id} not null,
      is_in ${t.int} not null, seq ${t.int} not null, through ${t.int} not null,
      primary key (destination, account, entity, entity_id))`,
    `create table sync_push_tokens (
      destination ${t.id} not null primary key,
      tokens text, lease_token ${t.id}, lease_until ${t.time})`,
    `create table sync_restatements (
      destination ${t.id} not null, account ${t.id} not null, submission_id ${t.id} not null, requested_at ${t.time} not null,
      primary key (destination, account, submission_id))`,
  ]
}

function outbox(t: ColumnTypes): string[] {
  return [
    `create table sync_outbox (
      outbox_id ${t.serial},
      destination ${t.id} not null, account ${t.id} not null, stream ${t.id} not null, submission_id ${t.id},
      entity ${t.id} not null, entity_id ${t.id} not null, operation text not null, cause text not null, seq ${t.int} not null,
      snapshot ${t.raw}, message_id ${t.id} not null, state text not null, attempts ${t.int} not null, uncertain ${t.int} not null,
      queued_at ${t.time} not null, tried_at ${t.time}, status ${t.int}, detail text, error text, progress text, settled_at ${t.time},
      resent text, left_filter ${t.int})`,
    // The rows of one stream in order, for claims and for detecting an empty stream.
    "create index sync_outbox_stream on sync_outbox (destination, account, stream, outbox_id) where state = 'ready'",
    "create index sync_outbox_ready on sync_outbox (destination, outbox_id) where state = 'ready'",
    "create index sync_outbox_delivered on sync_outbox (destination, outbox_id) where state = 'delivered'",
    // An attempt is counted with its result, so a push that succeeds the first time never enters this index.
    "create index sync_outbox_retrying on sync_outbox (destination, outbox_id) where state = 'ready' and attempts > 0",
    "create index sync_outbox_stopped on sync_outbox (destination, state, outbox_id) where state in ('dead', 'unknown', 'skipped')",
    'create index sync_outbox_message on sync_outbox (message_id)',
    'create index sync_outbox_progress on sync_outbox (destination) where progress is not null',
    // Records that a receiver dropped, which aren't looked up.
    `create index sync_outbox_dropped on sync_outbox (destination, account, entity, entity_id)
      where operation in ('gone', 'purged') or left_filter = 1`,
    // Resent changes follow newer ones, so this index finds their rows in the change log.
    "create index sync_outbox_resent on sync_outbox (destination, seq) where resent is not null and state <> 'delivered'",
    ...(t.kind === 'sqlite' ? SQLITE_LOOKUPS : POSTGRES_LOOKUPS),
    `create table sync_push_streams (
      destination ${t.id} not null, account ${t.id} not null, stream ${t.id} not null,
      due_at ${t.time} not null, lease_token ${t.id}, blocked text, held_by ${t.int},
      primary key (destination, account, stream))`,
    'create index sync_push_streams_due on sync_push_streams (destination, due_at) where blocked is null',
    'create index sync_push_streams_blocked on sync_push_streams (destination, blocked, due_at) where blocked is not null',
    "create index sync_push_streams_unmapped on sync_push_streams (destination, account, stream) where blocked = 'unmapped'",
  ]
}

/** Results of looking up sent changes in the targets. */
function verifications(t: ColumnTypes): string[] {
  return [
    `create table sync_push_verifications (
      destination ${t.id} not null, account ${t.id} not null, message_id ${t.id} not null, submission_id ${t.id},
      entity ${t.id} not null, entity_id ${t.id} not null, verified_at ${t.time} not null, result text not null, repaired_at ${t.time},
      primary key (destination, account, message_id))`,
    'create index sync_push_verifications_submission on sync_push_verifications (account, submission_id)',
    // For retention.
    'create index sync_push_verifications_time on sync_push_verifications (verified_at)',
    // Changes that a target lacks and that were not sent again.
    "create index sync_push_verifications_lacking on sync_push_verifications (destination) where result = 'lacks' and repaired_at is null",
  ]
}

const POSTGRES_LOOKUPS = [
  'create index sync_outbox_submission on sync_outbox (account, submission_id, outbox_id)',
  'create index sync_outbox_account on sync_outbox (account, outbox_id)',
  'create index sync_outbox_changes on sync_outbox (account, seq)',
  // Stuck or waiting changes of a submission; most others are delivered.
  "create index sync_outbox_undelivered on sync_outbox (account, submission_id) where state in ('ready', 'dead', 'unknown')",
  // Rows that `push_status` shows as open.
  "create index sync_outbox_open on sync_outbox (account, seq) where state not in ('delivered', 'skipped')",
]

/**
 * SQLite ends each index with the row's number, which is `outbox_id` here. `push_status` is read state by state, so the state is part of
 * both indexes: of two matching indexes SQLite prefers the one with more columns.
 */
const SQLITE_LOOKUPS = [
  'create index sync_outbox_account on sync_outbox (account)',
  'create index sync_outbox_changes on sync_outbox (account, state, seq)',
  'create index sync_outbox_submission on sync_outbox (account, submission_id, state, seq)',
]

const STORAGE = ['sync_outbox', 'sync_push_streams', 'sync_destinations'].map(updatedOften)
