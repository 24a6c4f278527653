import type { TimeText } from '../../model/time.ts'

/** The tables and views of the ledger of completeness, for kysely. What each holds is told in migrations/README.md. */
export interface CompletenessTables {
  arrival_counts: ArrivalCountsTable
  arrivals: ArrivalsView
  completeness: CompletenessView
  account_completeness: AccountCompletenessView
}

/** How many records became known in one hour, by how they arrived first. */
export interface ArrivalCountsTable {
  account: string
  /** Its start. */
  hour: TimeText
  entity: string
  webhook: number
  poll: number
  backfill: number
  reconcile: number
  /** Of `poll` and `reconcile`: those that no webhook announced within 15 minutes. */
  lost: number
}

export interface ArrivalsView {
  account: string
  submission_id: string
  entity: 'market_events' | 'thread_messages'
  record_id: string
  occurred_at: TimeText
  known_at: TimeText
  known_via: string
  delay_seconds: number
  webhook_at: TimeText | null
  webhook: 'first' | 'later' | 'none' | 'not expected'
}

export interface CompletenessView {
  account: string
  submission_id: string
  tracked_at: TimeText
  tracked_via: string
  unreachable_since: TimeText | null
  events_read_at: TimeText | null
  thread_read_at: TimeText | null
  state_read_at: TimeText | null
  events_replayed_at: TimeText | null
  thread_replayed_at: TimeText | null
  lag_seconds: number
  failing_reads: number
  proved_at: TimeText | null
  proved_by: string | null
  event_count: number
  message_count: number
  lost_webhooks: number
}

export interface AccountCompletenessView {
  account: string
  state: string
  submissions: number
  unreachable: number
  never_read: number
  oldest_events_read_at: TimeText | null
  oldest_thread_read_at: TimeText | null
  oldest_state_read_at: TimeText | null
  lag_seconds: number
  proven: number
  oldest_proof_at: TimeText | null
  known_by_webhook: number
  known_by_poll: number
  known_by_backfill: number
  known_by_reconcile: number
  lost_webhooks: number
  webhook_loss_ratio: number | null
  webhook_loss_ratio_day: number | null
  events_unreadable_at: TimeText | null
}
