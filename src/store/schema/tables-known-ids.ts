import type { KnownKind } from '../../model/known-ids.ts'
import type { OptionalRead } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'

export interface KnownIdsTables {
  sync_known_ids: KnownIdsTable
  known_ids: KnownIdsView
  sync_reads_off: ReadsOffTable
}

/** Ids that answers and operators named, with the reads of what they identify. */
export interface KnownIdsTable {
  account: string
  kind: KnownKind
  id: string
  /** null when none is known. */
  submission_id: string | null
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
  is_final: number
  lease_token: string | null
  /** As in `sync_reads`. */
  content_hash: string | null
  hash_no: number | null
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

/** Reads that an account does not make. */
export interface ReadsOffTable {
  account: string
  read: OptionalRead
  /** Who says so: `STATE_READS`, or the service, which refuses the read. */
  cause: 'settings' | 'service'
  reason: string
  since: TimeText
  /** When a read that the service refuses is tried again; null: never by itself. */
  retry_at: TimeText | null
}
