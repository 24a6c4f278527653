import type { SubmissionRef } from '../model/observations.ts'
import type { GateOptions } from './account-gate.ts'
import type { ExtraRead } from './extra-reads.ts'
import type { IdReadOptions } from './id-read.ts'
import type { PollPolicy } from './intervals.ts'

export interface SyncOptions extends GateOptions {
  readonly policy: PollPolicy
  readonly concurrency: number
  readonly recordFields: IdReadOptions['recordFields']
  /** Extra reads from the settings. Default: none. */
  readonly extraReads?: readonly ExtraRead[] | undefined
}

export interface FailedRead extends SubmissionRef {
  /** A kind of read, such as `events`, or `extra read NAME`. */
  readonly read: string
  readonly reason: string
}
