import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** What tells a database that took another's place, and how readers go on after that. */
export const logEpochs: Migration = {
  version: 21,
  name: 'log-epochs',
  oldestCompatible: 1,
  statements: (t) => [
    `alter table sync_log_epochs add column epoch_no ${t.int}`,
    'alter table sync_log_epochs add column server text',
    `alter table sync_log_epochs add column known_seq ${t.int}`,
    'alter table sync_log_epochs add column instance text',
    `alter table sync_log_epochs add column replays_at ${t.time}`,
    `alter table sync_log_epochs add column replayed_at ${t.time}`,
    `update sync_log_epochs set replays_at = began_at, replayed_at = began_at, epoch_no = (
      select count(*) from sync_log_epochs e
      where e.began_at < sync_log_epochs.began_at or (e.began_at = sync_log_epochs.began_at and e.log_epoch <= sync_log_epochs.log_epoch))`,
    `create table sync_restatements (
      destination text not null, account text not null, submission_id text not null, requested_at ${t.time} not null,
      primary key (destination, account, submission_id))`,
    view(t),
  ],
}

function view(_: ColumnTypes): string {
  return `create view log_epochs as
    select log_epoch, epoch_no, began_at, after_seq, known_seq, reason, replayed_at from sync_log_epochs`
}
