import type { Migration } from '../src/store/schema/migration.ts'

/** Alarms, what operators were told of them, and what is learned of how deliveries usually come. */
export const alarms: Migration = {
  version: 7,
  name: 'alarms',
  oldestCompatible: 1,
  statements: (t) => [
    `create table alarms (
      name text not null, account text not null, destination text not null,
      state text not null, severity text not null,
      since ${t.time} not null, last_at ${t.time} not null, resolved_at ${t.time},
      text text not null, notified_at ${t.time},
      primary key (name, account, destination))`,
    `create table sync_operator_notices (
      operator text not null, name text not null, account text not null, destination text not null,
      notice_id text not null, kind text not null, body text not null,
      queued_at ${t.time} not null, due_at ${t.time} not null, lease_token text,
      attempts ${t.int} not null, error text, outcome text, settled_at ${t.time},
      primary key (operator, name, account, destination))`,
    'create index sync_operator_notices_due on sync_operator_notices (due_at) where settled_at is null',
    `create table sync_delivery_rhythm (
      account text not null primary key, last_at ${t.time}, learned text not null)`,
    `create table sync_alarm_watch (
      id ${t.int} not null primary key check (id = 1),
      lease_token text not null, lease_until ${t.time} not null, learned_up_to ${t.int}, evaluated_at ${t.time})`,
    // Evidence is kept for ever; what is new of it is looked for again and again.
    'create index sync_conflicts_seen on sync_conflicts (account, seen_at)',
    'create index sync_unreadable_seen on sync_unreadable (account, seen_at)',
  ],
}
