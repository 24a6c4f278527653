import type { Change } from '../../model/change.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { StateObservation, SubmissionRef } from '../../model/observations.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { TimeText } from '../../model/time.ts'

/** Newest event and message times, and each lane's newest event, without gone records. */
export interface Newest {
  readonly eventAt: TimeText | null
  readonly messageAt: TimeText | null
  /** Event ids. */
  readonly laneEvents: readonly string[]
}

/**
 * Whether to apply a state read. `stale`: a read with a greater number was applied. `same`: its content equals the last read, and the
 * submission has not changed since.
 */
export type Taken = 'new' | 'same' | 'stale'

export interface OnlyRows {
  readonly column: string
  readonly values: readonly string[]
}

/** Read access to the mirror of one account. */
export interface MirrorReading {
  /** How tax ids are protected before they are stored. */
  readonly protection: Protection
  readonly listsDocuments: boolean
  /** The rows of `keys`, and possibly others. @param keys of one submission. */
  load(entity: Entity, keys: readonly Row[]): Promise<readonly Row[]>
  /** All rows of `entity` in the submission. @param only filter; the result may include other rows. */
  loadOfSubmission(entity: Entity, account: string, submissionId: string, only?: OnlyRows): Promise<readonly Row[]>
  newest(account: string, submissionId: string): Promise<Newest>
  /** Ids of documents that answers named for the submission. */
  documentIds(account: string, submissionId: string): Promise<readonly string[]>
  /** Submissions that named a document of another submission, now or earlier. */
  sharersOf(account: string, documentKey: string): Promise<readonly string[]>
}

/**
 * Mirror access for applying observations. Implemented by a writing transaction (`MirrorWriter`) and by a comparison that only records its
 * writes. Both get the same result.
 */
export interface MirrorAccess extends MirrorReading {
  insert(entity: Entity, rows: readonly Row[], changes: readonly Change[]): Promise<void>
  update(entity: Entity, columns: readonly string[], rows: readonly Row[], changes: readonly Change[]): Promise<void>
  /** Creates and locks submissions. @param keys distinct, sorted by key. @returns all rows, and the keys of new submissions. */
  lockSubmissions(
    keys: readonly Row[],
    trackedAt: TimeText,
    via: (key: Row) => string,
  ): Promise<{ readonly rows: readonly Row[]; readonly added: readonly Row[] }>
  /** @returns the purged submissions among `keys`, each as `account submission_id`. @param keys distinct. */
  purgedAmong(keys: readonly Row[]): Promise<ReadonlySet<string>>
  /** Adds the reads of new submissions. */
  addReads(places: readonly SubmissionRef[], now: TimeText, live: boolean): Promise<void>
  /** Claims the right to apply a state read. */
  takeApplied(observation: StateObservation): Promise<Taken>
}
