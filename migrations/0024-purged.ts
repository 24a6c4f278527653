import type { Migration } from '../src/store/schema/migration.ts'

/** Submissions that an operator has purged. They are not tracked again until `track --again`. */
export const purged: Migration = {
  version: 24,
  name: 'purged',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_purged (
      account text not null, submission_id text not null, purged_at ${t.time} not null, finished_at ${t.time},
      primary key (account, submission_id))`,
  ],
}
