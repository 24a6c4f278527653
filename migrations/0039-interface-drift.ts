import type { Migration } from '../src/store/schema/migration.ts'

/** What answers and deliveries have beyond the specification: where, of which type, how often; never a value. */
export const interfaceDrift: Migration = {
  version: 39,
  name: 'interface-drift',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_interface_drift (
      account text not null, resource text not null, path text not null, kind text not null, type text not null,
      first_seen_at ${t.time} not null, last_seen_at ${t.time} not null, answers ${t.int} not null,
      primary key (account, resource, path, kind, type))`,
  ],
}
