import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** What retention and restores have to remember: how far they came, and which numbering of changes each number belongs to. */
export const retention: Migration = {
  version: 8,
  name: 'retention',
  oldestCompatible: 1,
  statements: (t) => tables(t),
}

function tables(t: ColumnTypes): string[] {
  return [
    `create table sync_log_epochs (
      log_epoch text not null primary key,
      after_seq ${t.int} not null, began_at ${t.time} not null, home text not null, reason text not null)`,
    `create table sync_upkeep (
      task text not null primary key,
      slot text, settings text, lease_token text, lease_until ${t.time}, position ${t.int} not null,
      began_at ${t.time}, ended_at ${t.time}, note text)`,
    `create table sync_inbox_left (
      inbox_id ${t.int} not null primary key)`,
  ]
}
