import type { Migration } from '../src/store/schema/migration.ts'

/** Why a turn of retention waits for an operator, and which one an operator has confirmed. */
export const retentionWaits: Migration = {
  version: 22,
  name: 'retention-waits',
  oldestCompatible: 1,
  statements: (t) =>
    [`waits_since ${t.time}`, 'waits_for text', 'confirmed text'].map((column) => `alter table sync_upkeep add column ${column}`),
}
