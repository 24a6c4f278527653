import type { KnownKind } from '../../model/known-ids.ts'
import type { TimeText } from '../../model/time.ts'

export interface KnownIdsTables {
  sync_known_ids: KnownIdsTable
  known_ids: KnownIdsView
}

/** Ids that answers and operators named, with the reads of what they identify. */
export interface KnownIdsTable {
  account: string
  kind: KnownKind
  id: string
  /** Empty when none is known. */
  submission_id: string
  via: string
  first_seen_at: TimeText
  last_read_at: TimeText | null
  last_changed_at: TimeText | null
  error: string | null
  /** null: it is not read. While it is claimed, the end of the lease. */
  due_at: TimeText | null
  wake_no: number
  issued_no: number
  applied_no: number
  failures: number
  misses: number
  /** 1: nothing is expected of it any more. */
  rests: number
  lease_token: string | null
}

export interface KnownIdsView {
  account: string
  kind: KnownKind
  id: string
  submission_id: string | null
  via: string
  first_seen_at: TimeText
  last_read_at: TimeText | null
  error: string | null
}
