import type { Migration } from '../src/store/schema/migration.ts'

/** When each webhook secret verified a delivery last, so that operators see when an old one can go. */
export const webhookSecrets: Migration = {
  version: 9,
  name: 'webhook-secrets',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_webhook_secrets (
      account text not null, tag text not null, last_verified_at ${t.time} not null,
      primary key (account, tag))`,
  ],
}
