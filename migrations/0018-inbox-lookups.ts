import type { Migration } from '../src/store/schema/migration.ts'

/**
 * Indexes for the deliveries of a submission and for the newest of an account. The first has a delivery from when it is worked on: storing
 * one costs nothing more.
 */
export const inboxLookups: Migration = {
  version: 18,
  name: 'inbox-lookups',
  oldestCompatible: 1,
  statements: ({ kind }) => {
    // SQLite ends each index with the number of the row, which here is `inbox_id`.
    const id = kind === 'postgres' ? ', inbox_id' : ''
    return [
      `create index sync_inbox_account on sync_inbox (account${id})`,
      `create index sync_inbox_submission on sync_inbox (account, submission_id${id}) where submission_id is not null`,
    ]
  },
}
