import type { TimeText } from '../../model/time.ts'

export interface ExtraReadsTables {
  extra_reads: ExtraReadsTable
  sync_extra_reads: ExtraReadScheduleTable
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

export interface ExtraReadScheduleTable {
  account: string
  submission_id: string
  name: string
  due_at: TimeText
  lease_token: string | null
  failures: number
  error: string | null
  last_read_at: TimeText | null
}
