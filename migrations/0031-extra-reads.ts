import type { Migration } from '../src/store/schema/migration.ts'

/** Answers of paths that the operator names, and when each is read next. */
export const extraReads: Migration = {
  version: 31,
  name: 'extra-reads',
  oldestCompatible: 1,
  statements: (t) => [
    `create table extra_reads (
      account text not null, submission_id text not null, name text not null, read_at ${t.time} not null, raw ${t.raw} not null,
      primary key (account, submission_id, name))`,
    `create table sync_extra_reads (
      account text not null, submission_id text not null, name text not null, due_at ${t.time} not null, lease_token text,
      failures ${t.int} not null, error text, last_read_at ${t.time},
      primary key (account, submission_id, name))`,
    'create index sync_extra_reads_due on sync_extra_reads (account, name, due_at)',
    'create index sync_extra_reads_fresh on sync_extra_reads (account, name, last_read_at)',
  ],
}
