import type { Change } from '../../model/change.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { StateObservation, SubmissionRef } from '../../model/observations.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { TimeText } from '../../model/time.ts'

/** Newest times of a submission's events and messages, and the newest event of each lane. Leaves out gone records. */
export interface Newest {
  readonly eventAt: TimeText | null
  readonly messageAt: TimeText | null
  /** Id of the newest event of each lane. */
  readonly laneEvents: readonly string[]
}

/**
 * Whether to apply a state read.
 * - `new`: apply the read.
 * - `same`: don't apply. The content equals the last applied read, and nothing else changed the submission since.
 * - `stale`: don't apply. A read with a greater number was already applied.
 */
export type Taken = 'new' | 'same' | 'stale'

export interface OnlyRows {
  readonly column: string
  readonly values: readonly string[]
}

/** Read access to the mirror. */
export interface MirrorReading {
  /** How tax ids are protected before they are stored. */
  readonly protection: Protection
  readonly listsDocuments: boolean
  /** @returns the rows with these keys; the result may include other rows. @param keys keys of one submission. */
  load(entity: Entity, keys: readonly Row[]): Promise<readonly Row[]>
  /**
   * @returns all rows of `entity` in the submission.
   * @param only the rows that the caller needs; default: all. The result may still include other rows.
   */
  loadOfSubmission(entity: Entity, account: string, submissionId: string, only?: OnlyRows): Promise<readonly Row[]>
  newest(account: string, submissionId: string): Promise<Newest>
  /** Ids of documents that the service named for the submission. */
  documentIds(account: string, submissionId: string): Promise<readonly string[]>
  /** Submissions that named the document at any time. Empty if only one submission named the document. */
  sharersOf(account: string, documentKey: string): Promise<readonly string[]>
}

/**
 * Access to the mirror for applying observations. Its two implementations get the same writes.
 * `MirrorWriter` writes in a transaction. The comparison in `apply/compare.ts` only records the writes.
 */
export interface MirrorAccess extends MirrorReading {
  insert(entity: Entity, rows: readonly Row[], changes: readonly Change[]): Promise<void>
  update(entity: Entity, columns: readonly string[], rows: readonly Row[], changes: readonly Change[]): Promise<void>
  /**
   * Creates missing submissions and locks all of `keys`.
   * @param keys distinct, sorted by key.
   * @returns `rows`: the submissions' rows; `added`: the keys of new submissions.
   */
  lockSubmissions(
    keys: readonly Row[],
    trackedAt: TimeText,
    via: (key: Row) => string,
  ): Promise<{ readonly rows: readonly Row[]; readonly added: readonly Row[] }>
  /** @returns the submissions in `keys` that are purged, each as `<account> <submission_id>`. @param keys distinct. */
  purgedAmong(keys: readonly Row[]): Promise<ReadonlySet<string>>
  /** Schedules the reads of new submissions. */
  addReads(places: readonly SubmissionRef[], now: TimeText, live: boolean): Promise<void>
  /** Decides whether to apply a state read. Records the number of an applied read. */
  takeApplied(observation: StateObservation): Promise<Taken>
}
