import type { Migration } from '../src/store/schema/migration.ts'

/**
 * The index of an account's deliveries has a delivery from when it is worked on: in the one before it each acknowledgement wrote to it. With
 * the state in it SQLite counts without reading the deliveries.
 */
export const inboxWorked: Migration = {
  version: 19,
  name: 'inbox-worked',
  oldestCompatible: 1,
  statements: () => [
    'drop index sync_inbox_account',
    "create index sync_inbox_worked on sync_inbox (account, inbox_id, state) where state <> 'ready'",
  ],
}
