import type { Migration } from '../src/store/schema/migration.ts'

/**
 * Deliveries of a few kilobytes stay in the row of the inbox. Postgres would compress what is longer than 2 KB and put it into a table
 * beside, which took twice the time of all the rest of an acknowledgement. SQLite knows no such thing.
 */
export const inlineBodies: Migration = {
  version: 2,
  name: 'inline-bodies',
  oldestCompatible: 1,
  statements: ({ kind }) => (kind === 'postgres' ? ['alter table sync_inbox set (toast_tuple_target = 8160)'] : []),
}
