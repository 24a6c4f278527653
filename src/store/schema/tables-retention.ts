import type { TimeText } from '../../model/time.ts'

export interface RetentionTables {
  sync_log_epochs: LogEpochsTable
  sync_upkeep: UpkeepTable
  sync_inbox_left: InboxLeftTable
}

/** A numbering of changes; the newest is the one that `mirror_info.log_epoch` names. */
export interface LogEpochsTable {
  log_epoch: string
  /** It holds for the changes behind this number. */
  after_seq: number
  began_at: TimeText
  /** The database that it was begun in: elsewhere it is a copy. */
  home: string
  /** Why it was begun: `first`, `restore`, `copy`, `command`. */
  reason: string
}

/** What is done now and then by one process for all, such as retention. */
export interface UpkeepTable {
  task: string
  /** The newest turn that was begun or is done, such as a day. */
  slot: string | null
  /** By which settings it was done: with others a turn is due again. */
  settings: string | null
  lease_token: string | null
  lease_until: TimeText | null
  /** How far the task has come, in its own measure. */
  position: number
  began_at: TimeText | null
  ended_at: TimeText | null
  /** What the last turn did, in a sentence. */
  note: string | null
}

/** Deliveries that retention has passed while they were not done, to be looked at again. */
export interface InboxLeftTable {
  inbox_id: number
}
