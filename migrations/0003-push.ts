import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/** What has to reach each destination: the outbox with its lanes, the map to the AMS, and the view that tells what became of it. */
export const push: Migration = {
  version: 3,
  name: 'push',
  oldestCompatible: 1,
  statements: (t) => [...publicTables(t), ...internalTables(t), view()],
}

function publicTables(t: ColumnTypes): string[] {
  return [
    `create table push_map (
      destination text not null, account text not null, submission_id text not null,
      client text not null, policy text, fields ${t.json}, mapped_at ${t.time} not null, mapped_via text not null,
      primary key (destination, account, submission_id))`,
  ]
}

function internalTables(t: ColumnTypes): string[] {
  return [
    `create table sync_destinations (
      destination text not null primary key,
      state text not null, reason text, since ${t.time}, cursor ${t.int} not null, log_epoch text not null,
      retry_at ${t.time}, failures ${t.int} not null,
      queued ${t.int} not null, dead ${t.int} not null, unknown ${t.int} not null, snapshot ${t.raw})`,
    `create table sync_outbox (
      outbox_id ${t.serial},
      destination text not null, account text not null, lane text not null, submission_id text,
      entity text not null, entity_id text not null, operation text not null, cause text not null, seq ${t.int} not null, snapshot ${t.raw},
      message_id text not null, state text not null, attempts ${t.int} not null, uncertain ${t.int} not null,
      queued_at ${t.time} not null, tried_at ${t.time}, status ${t.int}, detail text, error text, settled_at ${t.time})`,
    // One lane's rows in their order: for claiming them, and for knowing whether any are left.
    "create index sync_outbox_lane on sync_outbox (destination, account, lane, outbox_id) where state = 'ready'",
    "create index sync_outbox_ready on sync_outbox (destination, outbox_id) where state = 'ready'",
    "create index sync_outbox_stopped on sync_outbox (destination, state, outbox_id) where state in ('dead', 'unknown', 'skipped')",
    'create index sync_outbox_submission on sync_outbox (account, submission_id, outbox_id)',
    `create table sync_push_lanes (
      destination text not null, account text not null, lane text not null,
      due_at ${t.time} not null, lease_token text, blocked text, held_by ${t.int},
      primary key (destination, account, lane))`,
    'create index sync_push_lanes_due on sync_push_lanes (destination, due_at) where blocked is null',
    'create index sync_push_lanes_blocked on sync_push_lanes (destination, blocked) where blocked is not null',
    `create table sync_remote_ids (
      destination text not null, account text not null, entity text not null, entity_id text not null,
      remote_id text not null, stored_at ${t.time} not null,
      primary key (destination, account, entity, entity_id))`,
  ]
}

function view(): string {
  return `create view push_status as
    select o.destination, d.state as destination_state, o.account, o.submission_id, o.entity, o.entity_id, o.operation, o.seq, o.message_id,
      case when o.state <> 'ready' then o.state when l.blocked is not null then l.blocked
        when o.attempts > 0 then 'retrying' else 'waiting' end as state,
      o.attempts, o.queued_at, o.tried_at,
      case when o.state <> 'ready' or l.blocked is not null or d.state <> 'active' then null
        when d.retry_at > l.due_at then d.retry_at else l.due_at end as next_try_at,
      case when o.state = 'delivered' then o.settled_at end as delivered_at,
      o.status, o.error, r.remote_id
    from sync_outbox o
    join sync_destinations d on d.destination = o.destination
    left join sync_push_lanes l on l.destination = o.destination and l.account = o.account and l.lane = o.lane
    left join sync_remote_ids r on r.destination = o.destination and r.account = o.account and r.entity = o.entity and r.entity_id = o.entity_id`
}
