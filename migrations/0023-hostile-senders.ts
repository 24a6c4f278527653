import type { Migration } from '../src/store/schema/migration.ts'

/** Refused connections, minute by minute, and deliveries that came again with another body. Storing a new delivery costs nothing more. */
export const hostileSenders: Migration = {
  version: 23,
  name: 'hostile-senders',
  oldestCompatible: 1,
  statements: (t) => [
    `create table sync_refused_connections (
      noted_at ${t.time} not null, process_id text not null, reason text not null,
      connections ${t.int} not null, worst_address text not null,
      primary key (noted_at, process_id, reason))`,
    `create table sync_differing_deliveries (
      account text not null, delivery_id text not null, body_sha256 text not null,
      first_at ${t.time} not null, last_at ${t.time} not null, times ${t.int} not null, is_compared ${t.int} not null,
      primary key (account, delivery_id, body_sha256))`,
    'create index sync_differing_deliveries_last on sync_differing_deliveries (last_at)',
  ],
}
