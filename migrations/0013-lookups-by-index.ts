import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'

/**
 * Two things that took the longer the more had gathered. Senders looked through all lanes that wait for a client to find those whose time has
 * come to look for one: the index of what stands still now has the times, too. And whoever asked `push_status` on SQLite for what has not
 * reached a destination went through all that has: each state now has its part of the view, which is found by the index of that state.
 * Postgres reads a view of one part better.
 */
export const lookupsByIndex: Migration = {
  version: 13,
  name: 'lookups-by-index',
  oldestCompatible: 1,
  statements: (t) => [
    'drop index sync_push_lanes_blocked',
    'create index sync_push_lanes_blocked on sync_push_lanes (destination, blocked, due_at) where blocked is not null',
    ...(t.kind === 'sqlite' ? ['drop view push_status', pushStatus(t)] : []),
  ],
}

/** What differs between the parts of the view. */
interface Part {
  readonly states: string
  readonly state: string
  readonly nextTryAt?: string
  readonly deliveredAt?: string
}

const LANE = 'left join sync_push_lanes l on l.destination = o.destination and l.account = o.account and l.lane = o.lane'

/** A part says its state in words that SQLite can compare before it reads a row, so that parts which are not asked for are passed over. */
function pushStatus(t: ColumnTypes): string {
  const parts: Part[] = [
    {
      states: "o.state = 'ready'",
      state: "case when l.blocked is not null then l.blocked when o.attempts > 0 then 'retrying' else 'waiting' end",
      nextTryAt: `case when l.blocked is not null or d.state <> 'active' then null
        when d.retry_at > l.due_at then d.retry_at else l.due_at end`,
    },
    { states: "o.state = 'delivered'", state: "'delivered'", deliveredAt: 'o.settled_at' },
    { states: "o.state in ('dead', 'unknown', 'skipped')", state: 'o.state' },
  ]
  return `create view push_status as ${parts.map((part) => partOf(t, part)).join(' union all ')}`
}

/** The same types in each part: else SQLite would read all of them before it orders or joins. */
function partOf(t: ColumnTypes, { states, state, nextTryAt, deliveredAt }: Part): string {
  return `
    select o.destination, d.state as destination_state, o.account, o.submission_id, o.entity, o.entity_id, o.operation, o.seq, o.message_id,
      cast(${state} as text) as state, o.attempts, o.queued_at, o.tried_at,
      cast(${nextTryAt ?? 'null'} as ${t.time}) as next_try_at, cast(${deliveredAt ?? 'null'} as ${t.time}) as delivered_at,
      o.status, o.error, r.remote_id
    from sync_outbox o
    join sync_destinations d on d.destination = o.destination
    ${nextTryAt === undefined ? '' : LANE}
    left join sync_remote_ids r on r.destination = o.destination and r.account = o.account and r.entity = o.entity and r.entity_id = o.entity_id
    where ${states}`
}
