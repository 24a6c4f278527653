import type { TimeText } from '../../model/time.ts'

export interface DocumentTables {
  sync_documents: FetchesTable
  document_index: DocumentIndexView
}

export const documentStates = ['stored', 'waiting', 'failed', 'gone'] as const
export type DocumentState = (typeof documentStates)[number]

export interface DocumentIndexView {
  account: string
  submission_id: string | null
  insured_name: string | null
  document_key: string
  document_id: string | null
  origin: string | null
  name: string | null
  source_label: string | null
  content_type: string | null
  created_at: TimeText | null
  state: DocumentState
  stored_path: string | null
  stored_bytes: number | null
  sha256: string | null
  stored_at: TimeText | null
  error: string | null
  tried_at: TimeText | null
  retry_at: TimeText | null
  gone_at: TimeText | null
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
