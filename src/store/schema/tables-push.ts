import type { Generated } from 'kysely'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** Destinations, the rows queued for them, and the ids that targets gave to records. */
export interface PushTables {
  push_map: PushMapTable
  push_status: PushStatusView
  sync_destinations: DestinationsTable
  sync_outbox: OutboxTable
  sync_push_lanes: PushLanesTable
  sync_remote_ids: RemoteIdsTable
  sync_restatements: RestatementsTable
}

/** Only an operator's `resume` makes a destination active again. `parked`: its credential was withdrawn. `disabled`: it answered 410. */
export type DestinationState = 'active' | 'paused' | 'parked' | 'disabled'

export interface DestinationsTable {
  destination: string
  state: DestinationState
  reason: string | null
  since: TimeText | null
  /** The newest change that was fanned out to it. */
  cursor: number
  /** The epoch of the change log in which it began, or whose end it had reached when the next one began. */
  log_epoch: string
  /** No attempt before this time. */
  retry_at: TimeText | null
  /** Consecutive attempts that got no useful answer. */
  failures: number
  /** Progress of a snapshot as JSON text; null when none is in progress. */
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
  /** Content of a snapshot row as JSON text: `changed_at`, `after`. */
  snapshot: string | null
  message_id: string
  state: OutboxState
  attempts: number
  /** 1: an attempt began, and its outcome is unknown. */
  uncertain: number
  queued_at: TimeText
  tried_at: TimeText | null
  status: number | null
  detail: string | null
  error: string | null
  settled_at: TimeText | null
  /** Sent again because an operator asked for it, under the same id or a new one; null for what fan-out queued. */
  resent: 'same' | 'new' | null
}

/** Why a lane is blocked until somebody acts: its submission has no client, or a dead row holds it (`on_dead: hold`). */
export type LaneBlock = 'unmapped' | 'held'

export interface PushLanesTable {
  destination: string
  account: string
  lane: string
  due_at: TimeText
  lease_token: string | null
  blocked: LaneBlock | null
  /** With `held`: the outbox row that holds the lane. */
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
  is_open: boolean
  attempts: number
  queued_at: TimeText
  tried_at: TimeText | null
  next_try_at: TimeText | null
  delivered_at: TimeText | null
  status: number | null
  error: string | null
  remote_id: string | null
}

/** Submissions whose present state a destination is sent, because it may have got another one from a branch of the log that was lost. */
export interface RestatementsTable {
  destination: string
  account: string
  submission_id: string
  requested_at: TimeText
}
