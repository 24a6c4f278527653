import type { Migration } from '../src/store/schema/migration.ts'

/** Reads that an account does not make: left out by the settings, or refused by the service. */
export const readsOff: Migration = {
  version: 29,
  name: 'reads-off',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_reads_off (
      account text not null, read text not null, cause text not null, reason text not null, since ${t.time} not null, retry_at ${t.time},
      primary key (account, read))`,
  ],
}
