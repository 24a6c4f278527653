import type { TimeText } from '../../model/time.ts'

export interface ExtraReadsTables {
  extra_reads: ExtraReadsTable
  sync_path_reads: PathReadsTable
}

/** The last answer of each extra read. */
export interface ExtraReadsTable {
  account: string
  /** Empty for a path without a submission. */
  submission_id: string
  name: string
  read_at: TimeText
  raw: string
}

/** One row per path of discovery, and per extra read of each submission that it is made for. */
export interface PathReadsTable {
  account: string
  /** Empty for a path without a submission. */
  submission_id: string
  /** Of an extra read; of discovery its form in the settings, with a key in braces where `path` has an id. */
  name: string
  /** The requested path of discovery; empty for an extra read. */
  path: string
  due_at: TimeText
  lease_token: string | null
  /** `ok`, `limited`, or the class of the failure. */
  outcome: string | null
  /** Consecutive failures. */
  failures: number
  error: string | null
  /** When it last answered with JSON. */
  last_read_at: TimeText | null
  /** Of discovery: submission ids in the last answer. */
  ids: number
  /** Submissions discovered through it, in total. */
  found: number
  /** The last answer of discovery, cut to a limit. */
  raw: string | null
  /** Length of the last answer. */
  raw_bytes: number | null
}
