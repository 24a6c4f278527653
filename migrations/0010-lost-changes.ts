import type { Migration } from '../src/store/schema/migration.ts'

/** How many holes of the change log a run found; and the index by which a later one sees that a hole was told before. */
export const lostChanges: Migration = {
  version: 10,
  name: 'lost-changes',
  oldestCompatible: 1,
  statements: (t) => [
    `alter table reconcile_runs add column lost ${t.int} not null default 0`,
    "create index reconcile_findings_lost on reconcile_findings (seq) where kind = 'lost'",
  ],
}
