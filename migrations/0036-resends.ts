import type { Migration } from '../src/store/schema/migration.ts'

/**
 * Changes that are sent again because an operator asked for it. They stand behind younger ones in the outbox, so what they need of the change
 * log is looked up by an index of their own.
 */
export const resends: Migration = {
  version: 36,
  name: 'resends',
  oldestCompatible: 1,
  statements: () => [
    'alter table sync_outbox add column resent text',
    "create index sync_outbox_resent on sync_outbox (destination, seq) where resent is not null and state <> 'delivered'",
  ],
}
