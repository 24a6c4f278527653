import type { Migration } from '../src/store/schema/migration.ts'
import { submissionView } from './0005-completeness.ts'

/**
 * For each submission that `completeness` showed, SQLite looked through all arrivals of the account: it took the index of what feeds showed for
 * better than the key, which names the submission. Postgres, which has counted its rows, does not.
 */
export const completenessByKey: Migration = {
  version: 12,
  name: 'completeness-by-key',
  oldestCompatible: 1,
  statements: (t) => (t.kind === 'sqlite' ? ['drop view completeness', submissionView(t, '+')] : []),
}
