import type { TimeText } from '../../model/time.ts'

export interface DocumentTables {
  sync_documents: FetchesTable
}

/** What is due to be fetched of `documents`. */
export interface FetchesTable {
  account: string
  document_key: string
  /** null: nothing is to be fetched. While it is claimed, the end of the lease. */
  due_at: TimeText | null
  lease_token: string | null
  /** Consecutive failures. */
  failures: number
  /** Since when every attempt fails. */
  failing_since: TimeText | null
  /** The limit of one file that it was longer than; null: it was not. */
  refused_over_bytes: number | null
}
