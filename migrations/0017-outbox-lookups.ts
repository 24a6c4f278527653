import type { Migration } from '../src/store/schema/migration.ts'

/**
 * Indexes for the pushes of one message and for the newest of an account, by number as `outbox list` shows them and by change as
 * `push_status` does.
 */
export const outboxLookups: Migration = {
  version: 17,
  name: 'outbox-lookups',
  oldestCompatible: 1,
  statements: ({ kind }) => ['create index sync_outbox_message on sync_outbox (message_id)', ...(kind === 'sqlite' ? SQLITE : POSTGRES)],
}

const POSTGRES = [
  'create index sync_outbox_account on sync_outbox (account, outbox_id)',
  'create index sync_outbox_changes on sync_outbox (account, seq)',
]

/**
 * SQLite ends each index with the number of the row, which here is `outbox_id`. It reads `push_status` state by state, so the state stands in
 * both indexes: of two that fit it takes the one that names more columns, and that must be the one of the submission.
 */
const SQLITE = [
  'create index sync_outbox_account on sync_outbox (account)',
  'create index sync_outbox_changes on sync_outbox (account, state, seq)',
  'drop index sync_outbox_submission',
  'create index sync_outbox_submission on sync_outbox (account, submission_id, state, seq)',
]
