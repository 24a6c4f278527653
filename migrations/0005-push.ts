import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { updatedOften } from './storage.ts'

/** What has to reach each destination: the outbox with its lanes, and the map to the AMS. */
export const push: Migration = {
  version: 5,
  name: 'push',
  oldestCompatible: 1,
  statements: (t) => [...destinations(t), ...outbox(t), ...verifications(t), ...(t.kind === 'postgres' ? STORAGE : [])],
}

function destinations(t: ColumnTypes): string[] {
  const isSqlite = t.kind === 'sqlite'
  // Written by hand too, with no more than says whose client it is.
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
      destination ${t.id} not null, account ${t.id} not null, lane ${t.id} not null, submission_id ${t.id},
      entity ${t.id} not null, entity_id ${t.id} not null, operation text not null, cause text not null, seq ${t.int} not null,
      snapshot ${t.raw}, message_id ${t.id} not null, state text not null, attempts ${t.int} not null, uncertain ${t.int} not null,
      queued_at ${t.time} not null, tried_at ${t.time}, status ${t.int}, detail text, error text, progress text, settled_at ${t.time},
      resent text, left_filter ${t.int})`,
    // One lane's rows in their order: for claiming them, and for knowing whether any are left.
    "create index sync_outbox_lane on sync_outbox (destination, account, lane, outbox_id) where state = 'ready'",
    "create index sync_outbox_ready on sync_outbox (destination, outbox_id) where state = 'ready'",
    "create index sync_outbox_stopped on sync_outbox (destination, state, outbox_id) where state in ('dead', 'unknown', 'skipped')",
    'create index sync_outbox_message on sync_outbox (message_id)',
    'create index sync_outbox_progress on sync_outbox (destination) where progress is not null',
    // With what a receiver that keeps records has dropped one: such a record is not asked for.
    `create index sync_outbox_dropped on sync_outbox (destination, account, entity, entity_id)
      where operation in ('gone', 'purged') or left_filter = 1`,
    // Resent changes stand behind younger ones, so what they need of the change log is looked up by an index of their own.
    "create index sync_outbox_resent on sync_outbox (destination, seq) where resent is not null and state <> 'delivered'",
    ...(t.kind === 'sqlite' ? SQLITE_LOOKUPS : POSTGRES_LOOKUPS),
    `create table sync_push_lanes (
      destination ${t.id} not null, account ${t.id} not null, lane ${t.id} not null,
      due_at ${t.time} not null, lease_token ${t.id}, blocked text, held_by ${t.int},
      primary key (destination, account, lane))`,
    'create index sync_push_lanes_due on sync_push_lanes (destination, due_at) where blocked is null',
    'create index sync_push_lanes_blocked on sync_push_lanes (destination, blocked, due_at) where blocked is not null',
    "create index sync_push_lanes_unmapped on sync_push_lanes (destination, account, lane) where blocked = 'unmapped'",
  ]
}

/** What the targets answered when they were asked for what they were sent. */
function verifications(t: ColumnTypes): string[] {
  return [
    `create table sync_push_verifications (
      destination ${t.id} not null, account ${t.id} not null, message_id ${t.id} not null, submission_id ${t.id},
      entity ${t.id} not null, entity_id ${t.id} not null, verified_at ${t.time} not null, result text not null, repaired_at ${t.time},
      primary key (destination, account, message_id))`,
    'create index sync_push_verifications_submission on sync_push_verifications (account, submission_id)',
    // For retention.
    'create index sync_push_verifications_time on sync_push_verifications (verified_at)',
    // What a target lacks, and was not sent again.
    "create index sync_push_verifications_lacking on sync_push_verifications (destination) where result = 'lacks' and repaired_at is null",
  ]
}

const POSTGRES_LOOKUPS = [
  'create index sync_outbox_submission on sync_outbox (account, submission_id, outbox_id)',
  'create index sync_outbox_account on sync_outbox (account, outbox_id)',
  'create index sync_outbox_changes on sync_outbox (account, seq)',
  // What is stuck or waits of a submission, of which most was delivered.
  "create index sync_outbox_undelivered on sync_outbox (account, submission_id) where state in ('ready', 'dead', 'unknown')",
  // What `push_status` shows as open.
  "create index sync_outbox_open on sync_outbox (account, seq) where state not in ('delivered', 'skipped')",
]

/**
 * SQLite ends each index with the number of the row, which here is `outbox_id`. It reads `push_status` state by state, so the state stands in
 * both indexes: of two that fit it takes the one that names more columns, and that must be the one of the submission.
 */
const SQLITE_LOOKUPS = [
  'create index sync_outbox_account on sync_outbox (account)',
  'create index sync_outbox_changes on sync_outbox (account, state, seq)',
  'create index sync_outbox_submission on sync_outbox (account, submission_id, state, seq)',
]

const STORAGE = ['sync_outbox', 'sync_push_lanes', 'sync_destinations'].map(updatedOften)
