import type { Migration } from '../src/store/schema/migration.ts'

/** When each credential last got a token, so that operators see when an old one can go. */
export const credentialUses: Migration = {
  version: 40,
  name: 'credential-uses',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_credential_uses (
      account text not null, client_id text not null, last_token_at ${t.time} not null,
      primary key (account, client_id))`,
  ],
}
