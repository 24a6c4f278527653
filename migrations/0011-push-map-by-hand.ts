import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/**
 * A row of `push_map` may be written by hand with no more than says whose client it is, and with no `fields` that a sender could not read;
 * and an index by which senders find the lanes that wait for such a row.
 */
export const pushMapByHand: Migration = {
  version: 11,
  name: 'push-map-by-hand',
  oldestCompatible: 1,
  statements: (t) => [
    ...(t.kind === 'postgres' ? altered() : madeAnew(t)),
    "create index sync_push_lanes_unmapped on sync_push_lanes (destination, account, lane) where blocked = 'unmapped'",
  ],
}

function altered(): string[] {
  return [
    "update push_map set fields = null where jsonb_typeof(fields) <> 'object'",
    `alter table push_map alter column mapped_at set default clock_timestamp(), alter column mapped_via set default 'sql',
      add constraint push_map_fields check (jsonb_typeof(fields) = 'object')`,
  ]
}

/** SQLite changes neither defaults nor checks of a table that is there. */
function madeAnew(t: ColumnTypes): string[] {
  const isObject = "case when json_valid(fields) then json_type(fields) = 'object' else 0 end"
  const plain = 'destination, account, submission_id, client, policy'
  return [
    `create table push_map_next (
      destination text not null, account text not null, submission_id text not null,
      client text not null, policy text, fields ${t.json}, mapped_at ${t.time} not null default (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')),
      mapped_via text not null default 'sql',
      primary key (destination, account, submission_id),
      constraint push_map_fields check (fields is null or ${isObject}))`,
    `insert into push_map_next (${plain}, fields, mapped_at, mapped_via)
      select ${plain}, case when ${isObject} then fields end, mapped_at, mapped_via from push_map`,
    'drop table push_map',
    'alter table push_map_next rename to push_map',
  ]
}
