import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { updatedOften } from './storage.ts'

/** Received deliveries, rejected deliveries, and data about senders. */
export const inbox: Migration = {
  version: 3,
  name: 'inbox',
  oldestCompatible: 1,
  statements: (t) => [...deliveries(t), ...senders(t), ...(t.kind === 'postgres' ? STORAGE : [])],
}

function deliveries(t: ColumnTypes): string[] {
  // SQLite ends each index with the row's number, which is `inbox_id` here.
  const id = t.kind === 'postgres' ? ', inbox_id' : ''
  return [
    `create table sync_inbox (
      inbox_id ${t.serial},
      account ${t.id} not null, delivery_id ${t.id} not null, received_at ${t.time} not null, secret ${t.int} not null,
      state text not null, attempts ${t.int} not null, available_at ${t.time} not null, lease_token ${t.id},
      submission_id ${t.id}, kind text, what text, error text, settled_at ${t.time},
      headers text not null, body ${t.bytes},
      unique (account, delivery_id))`,
    "create index sync_inbox_ready on sync_inbox (available_at, inbox_id) where state = 'ready'",
    "create index sync_inbox_stopped on sync_inbox (account, state, inbox_id) where state in ('aside', 'dead')",
    // A delivery enters these two only when it is processed, so that an acknowledgement writes to neither.
    `create index sync_inbox_submission on sync_inbox (account, submission_id${id}) where submission_id is not null`,
    "create index sync_inbox_processed on sync_inbox (account, inbox_id, state) where state <> 'ready'",
    `create table sync_inbox_left (
      inbox_id ${t.int} not null primary key)`,
    `create table sync_rejected (
      rejected_id ${t.serial},
      account ${t.id}, path text not null, received_at ${t.time} not null, address text not null, reason text not null,
      headers text not null, body ${t.bytes}, replayed_at ${t.time})`,
  ]
}

function senders(t: ColumnTypes): string[] {
  return [
    `create table sync_rejected_connections (
      noted_at ${t.time} not null, process_id ${t.id} not null, reason ${t.id} not null,
      connections ${t.int} not null, worst_address text not null,
      primary key (noted_at, process_id, reason))`,
    `create table sync_differing_deliveries (
      account ${t.id} not null, delivery_id ${t.id} not null, body_sha256 ${t.id} not null,
      first_at ${t.time} not null, last_at ${t.time} not null, times ${t.int} not null, is_compared ${t.int} not null,
      primary key (account, delivery_id, body_sha256))`,
    'create index sync_differing_deliveries_last on sync_differing_deliveries (last_at)',
  ]
}

/** Bodies of a few kilobytes stay in the row. Compression in a separate table doubled the time of an acknowledgement. */
const STORAGE = [updatedOften('sync_inbox'), 'alter table sync_inbox set (toast_tuple_target = 8160)']
