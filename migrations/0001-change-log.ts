import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { checkedColumns } from './checked.ts'

/** The change log, its one counter row, its epochs, and the identities by which a replaced database is detected. */
export const changeLog: Migration = {
  version: 1,
  name: 'change-log',
  oldestCompatible: 1,
  statements: (t) => [...tables(t), ...indexes(t), ...(t.kind === 'postgres' ? STORAGE : [])],
}

function tables(t: ColumnTypes): string[] {
  const c = checkedColumns(t)
  return [
    `create table changes (
      ${c.int('seq')} not null primary key,
      ${c.id('account')} not null, ${c.id('submission_id')}, ${c.id('entity')} not null, ${c.id('entity_id')} not null,
      ${c.text('operation')} not null, ${c.time('changed_at')} not null, ${c.text('cause')} not null,
      ${c.json('before')}, ${c.json('after')})`,
    `create table mirror_info (
      ${c.int('id')} not null primary key check (id = 1),
      ${c.int('schema_version')} not null, ${c.id('log_epoch')} not null, ${c.int('first_seq')} not null, ${c.int('last_seq')} not null)`,
    `create table sync_log_epochs (
      log_epoch ${t.id} not null primary key, epoch_no ${t.int} not null,
      after_seq ${t.int} not null, began_at ${t.time} not null, origin text not null, reason text not null,
      server text not null, known_seq ${t.int}, instance text, full_reads_at ${t.time}, fully_read_at ${t.time})`,
  ]
}

function indexes(t: ColumnTypes): string[] {
  // SQLite ends each index with the row's number, which is `seq` here.
  const seq = t.kind === 'postgres' ? ', seq' : ''
  return [
    `create index changes_account on changes (account${seq})`,
    `create index changes_submission on changes (account, submission_id${seq})`,
    'create index changes_changed_at on changes (changed_at)',
  ]
}

/**
 * Every transaction updates the counter row, so its page keeps room for versions. The log grows at one end, where index-only scans need a
 * vacuum, and is removed at the other: with a hundred million rows the default would let two million changes pass before a vacuum.
 */
const STORAGE = [
  'alter table mirror_info set (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)',
  `alter table changes set (
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02)`,
]
