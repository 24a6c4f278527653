/**
 * SQL expressions about an outbox row. `o`: the row of `sync_outbox`. `l`: the row of its stream in
 * `sync_push_streams`, if there is one. `d`: the row of its destination. The view `push_status` and all lists and
 * counts of pushes use these expressions.
 */

/** Condition: `l` is the stream of row `o`. If row `o` isn't ready, its stream may have no row. */
export const itsStream = 'l.destination = o.destination and l.account = o.account and l.stream = o.stream'

/** Condition: row `r` of `sync_remote_ids` has the destination's id for the record that row `o` sends. */
export const itsRemoteId = 'r.destination = o.destination and r.account = o.account and r.entity = o.entity and r.entity_id = o.entity_id'

/**
 * Condition: the destination should still have the record that row `o` sent. False if row `o` or a later delivered row
 * says that the record is gone, purged, or outside the filter.
 */
export const isKept = `coalesce(o.left_filter, 0) <> 1 and o.operation not in ('gone', 'purged') and not exists (
  select 1 from sync_outbox e where e.destination = o.destination and e.account = o.account and e.entity = o.entity
    and e.entity_id = o.entity_id and (e.operation in ('gone', 'purged') or e.left_filter = 1)
    and e.state = 'delivered' and e.outbox_id > o.outbox_id)`

/** Condition: the change of row `v` of `sync_push_verifications` is still stored as delivered. */
export const isAnswered =
  "exists (select 1 from sync_outbox o where o.message_id = v.message_id and o.destination = v.destination and o.state = 'delivered')"

/** States that lists show for ready rows, and the condition of each state. */
export const readyAs = {
  waiting: 'l.blocked is null and o.attempts = 0',
  retrying: 'l.blocked is null and o.attempts > 0',
  unmapped: "l.blocked = 'unmapped'",
  held: "l.blocked = 'held'",
} as const

/** Expressions that are valid only for ready rows. */
export const ofReady = {
  state: "case when l.blocked is not null then l.blocked when o.attempts > 0 then 'retrying' else 'waiting' end",
  nextTryAt: `case when l.blocked is not null or d.state = 'paused' or (d.state = 'suspended' and d.retry_at is null) then null
    when d.retry_at > l.due_at then d.retry_at else l.due_at end`,
} as const

/** Expressions for rows in any state. */
export const ofPush = {
  state: `case when o.state <> 'ready' then o.state else ${ofReady.state} end`,
  nextTryAt: `case when o.state = 'ready' then ${ofReady.nextTryAt} end`,
  deliveredAt: "case when o.state = 'delivered' then o.settled_at end",
} as const
