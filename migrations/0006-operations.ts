import type { Migration } from '../src/store/schema/migration.ts'

/** What operators did: who, what, to what, and what came of it. */
export const operations: Migration = {
  version: 6,
  name: 'operations',
  oldestCompatible: 1,
  statements: (t) => [
    `create table operator_actions (
      action_id ${t.serial},
      at ${t.time} not null, who text not null, action text not null, target text, detail ${t.json}, outcome text not null)`,
  ],
}
