/**
 * What is said of a push: expressions of its row `o` of `sync_outbox`, the row `l` of its lane (null for none) and the row `d` of its destination.
 * The view `push_status` and the lists of pushes both take them from here.
 */

/** Of a row that is ready. */
export const ofReady = {
  state: "case when l.blocked is not null then l.blocked when o.attempts > 0 then 'retrying' else 'waiting' end",
  nextTryAt: `case when l.blocked is not null or d.state <> 'active' then null
    when d.retry_at > l.due_at then d.retry_at else l.due_at end`,
} as const

/** Of any row. */
export const ofPush = {
  state: `case when o.state <> 'ready' then o.state else ${ofReady.state} end`,
  nextTryAt: `case when o.state = 'ready' then ${ofReady.nextTryAt} end`,
  deliveredAt: "case when o.state = 'delivered' then o.settled_at end",
} as const
