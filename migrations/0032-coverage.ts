import type { Migration } from '../src/store/schema/migration.ts'

/** How old the reads by id are, without looking at each id. */
export const coverage: Migration = {
  version: 32,
  name: 'coverage',
  oldestCompatible: 1,
  statements: () => ['create index sync_known_ids_fresh on sync_known_ids (account, kind, last_read_at)'],
}
