import type { Migration } from '../src/store/schema/migration.ts'

/** What the last applied state read showed, by a hash, so that a read that shows the same again need not be compared. */
export const contentHashes: Migration = {
  version: 33,
  name: 'content-hashes',
  oldestCompatible: 1,
  statements: () =>
    ['sync_reads', 'sync_known_ids'].flatMap((table) => [
      `alter table ${table} add column content_hash text`,
      `alter table ${table} add column hash_no bigint`,
    ]),
}
