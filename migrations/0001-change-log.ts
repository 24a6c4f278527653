import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** The change log, its one counter row, and its numberings: what tells a database that took another's place. */
export const changeLog: Migration = {
  version: 1,
  name: 'change-log',
  oldestCompatible: 1,
  statements: (t) => [...tables(t), ...indexes(t), ...(t.kind === 'postgres' ? STORAGE : [])],
}

function tables(t: ColumnTypes): string[] {
  return [
    `create table changes (
      seq ${t.int} not null primary key,
      account ${t.id} not null, submission_id ${t.id}, entity ${t.id} not null, entity_id ${t.id} not null,
      operation text not null, changed_at ${t.time} not null, cause text not null,
      before ${t.json}, after ${t.json})`,
    `create table mirror_info (
      id ${t.int} not null primary key check (id = 1),
      schema_version ${t.int} not null, log_epoch ${t.id} not null, first_seq ${t.int} not null, last_seq ${t.int} not null)`,
    `create table sync_log_epochs (
      log_epoch ${t.id} not null primary key, epoch_no ${t.int} not null,
      after_seq ${t.int} not null, began_at ${t.time} not null, origin text not null, reason text not null,
      server text not null, known_seq ${t.int}, instance text, replays_at ${t.time}, replayed_at ${t.time})`,
  ]
}

function indexes(t: ColumnTypes): string[] {
  // SQLite ends each index with the number of the row, which here is `seq`.
  const seq = t.kind === 'postgres' ? ', seq' : ''
  return [
    `create index changes_account on changes (account${seq})`,
    `create index changes_submission on changes (account, submission_id${seq})`,
    'create index changes_changed_at on changes (changed_at)',
  ]
}

/**
 * The counter row is updated by every transaction, in the page that it stands in. The log grows at one end, where index-only scans need it vacuumed,
 * and is removed at the other: with a hundred million rows the default would let twenty million removed ones lie before the oldest.
 */
const STORAGE = [
  'alter table mirror_info set (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)',
  `alter table changes set (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)`,
]
