import type { Generated } from 'kysely'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** Destinations, what goes to them, and what they call it. */
export interface PushTables {
  push_map: PushMapTable
  push_status: PushStatusView
  sync_destinations: DestinationsTable
  sync_outbox: OutboxTable
  sync_push_lanes: PushLanesTable
  sync_remote_ids: RemoteIdsTable
}

/** Only an operator's `resume` makes a destination active again. `parked`: its credential was withdrawn. `disabled`: it said 410. */
export type DestinationState = 'active' | 'paused' | 'parked' | 'disabled'

export interface DestinationsTable {
  destination: string
  state: DestinationState
  reason: string | null
  since: TimeText | null
  /** The newest change that was fanned out to it. */
  cursor: number
  /** The numbering of changes that it was begun in, or had come to the end of when another was begun. */
  log_epoch: string
  /** Nothing is tried before. */
  retry_at: TimeText | null
  /** Tries in a row that found it not alive. */
  failures: number
  /** Rows of the outbox by state, kept here so that nobody has to count them. */
  queued: number
  dead: number
  unknown: number
  /** How far a snapshot has come, as JSON text; null when none is under way. */
  snapshot: string | null
}

export type OutboxState = 'ready' | 'delivered' | 'dead' | 'unknown' | 'skipped'

export interface OutboxTable {
  outbox_id: Generated<number>
  destination: string
  account: string
  lane: string
  submission_id: string | null
  entity: string
  entity_id: string
  operation: string
  cause: string
  seq: number
  /** Of a row of a snapshot what a change would say, as JSON text: `changed_at`, `after`. */
  snapshot: string | null
  message_id: string
  state: OutboxState
  attempts: number
  /** 1: a try was begun, and nobody knows yet how it ended. */
  uncertain: number
  queued_at: TimeText
  tried_at: TimeText | null
  status: number | null
  detail: string | null
  error: string | null
  settled_at: TimeText | null
}

/** Why a lane stands still until somebody does something: no client is known, or a dead letter holds it (`on_dead: hold`). */
export type LaneBlock = 'unmapped' | 'held'

export interface PushLanesTable {
  destination: string
  account: string
  lane: string
  due_at: TimeText
  lease_token: string | null
  blocked: LaneBlock | null
  /** With `held`: the row of the outbox that holds it. */
  held_by: number | null
}

export interface PushMapTable {
  destination: string
  account: string
  submission_id: string
  client: string
  policy: string | null
  fields: Json
  mapped_at: TimeText
  mapped_via: string
}

export interface RemoteIdsTable {
  destination: string
  account: string
  entity: string
  entity_id: string
  remote_id: string
  stored_at: TimeText
}

export interface PushStatusView {
  destination: string
  destination_state: DestinationState
  account: string
  submission_id: string | null
  entity: string
  entity_id: string
  operation: string
  seq: number
  message_id: string
  state: 'waiting' | 'retrying' | LaneBlock | Exclude<OutboxState, 'ready'>
  attempts: number
  queued_at: TimeText
  tried_at: TimeText | null
  next_try_at: TimeText | null
  delivered_at: TimeText | null
  status: number | null
  error: string | null
  remote_id: string | null
}
