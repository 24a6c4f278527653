import type { TimeText } from '../../model/time.ts'

export interface RetentionTables {
  sync_log_epochs: LogEpochsTable
  sync_upkeep: UpkeepTable
  sync_inbox_left: InboxLeftTable
}

/** A numbering of changes; the newest is in `mirror_info.log_epoch`. */
export interface LogEpochsTable {
  log_epoch: string
  /** It covers the changes behind this number. */
  after_seq: number
  began_at: TimeText
  /** Identifies the database in which it began: with another value the database is a copy. */
  home: string
  /** Why it began; see `EpochReason`. */
  reason: string
  /** 1, 2, 3 … in the order in which they began. */
  epoch_no: number
  /** The server or file in which it began; '' where it cannot be told. See log-home.ts. */
  server: string
  /** The newest number that the branch before it is known to have assigned; null when nobody saw more than `after_seq`. */
  known_seq: number | null
  /** The process that served last, on SQLite; null until one does. */
  instance: string | null
  /** When replays of all submissions were requested for it; null until then. */
  replays_at: TimeText | null
  /** When all of them had ended; null until then. */
  replayed_at: TimeText | null
}

/** A periodic task that one process does for all, such as retention. */
export interface UpkeepTable {
  task: string
  /** The newest run that began or ended, such as a day. */
  slot: string | null
  /** The settings of that run: with others it is due again. */
  settings: string | null
  lease_token: string | null
  lease_until: TimeText | null
  /** Progress of the task, in its own measure. */
  position: number
  began_at: TimeText | null
  ended_at: TimeText | null
  /** What the last run did, in a sentence. */
  note: string | null
  /** Since when, and why, its next run waits for an operator; null when it does not. */
  waits_since: TimeText | null
  waits_for: string | null
  /** The run that an operator let take place: its slot and settings. */
  confirmed: string | null
}

/** Deliveries that were unsettled when retention passed them, to be trimmed later. */
export interface InboxLeftTable {
  inbox_id: number
}
