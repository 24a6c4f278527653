import type { Place } from '../model/facts.ts'
import type { GateOptions } from './account-gate.ts'
import type { ExtraRead } from './extra-reads.ts'
import type { IdReadOptions } from './id-read.ts'
import type { PollPolicy } from './intervals.ts'

export interface SyncOptions extends GateOptions {
  readonly policy: PollPolicy
  readonly concurrency: number
  readonly recordFields: IdReadOptions['recordFields']
  /** Paths that the operator names; left out: none. */
  readonly extraReads?: readonly ExtraRead[] | undefined
}

/** A read that failed, and why. */
export interface FailedRead extends Place {
  /** A kind of read, or `extra read` and its name. */
  readonly read: string
  readonly reason: string
}
