import type { Change } from '../../model/change.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { StateFact, SubmissionRef } from '../../model/facts.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { TimeText } from '../../model/time.ts'

/** Times of a submission's newest records that are not gone, and the newest event of each lane. */
export interface Newest {
  readonly eventAt: TimeText | null
  readonly messageAt: TimeText | null
  /** Event ids. */
  readonly laneEvents: readonly string[]
}

/**
 * Whether a state read may be applied. `stale`: one with a greater number was applied. `same`: it repeats the last one, and nothing of the
 * submission has changed since.
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
  /** All rows of `entity` of the submission. @param only those that are needed; others may be included. */
  loadOfSubmission(entity: Entity, account: string, submissionId: string, only?: OnlyRows): Promise<readonly Row[]>
  newest(account: string, submissionId: string): Promise<Newest>
  /** Ids of documents that answers named for the submission. */
  documentIds(account: string, submissionId: string): Promise<readonly string[]>
  /** Submissions that named a document of another submission; some may no longer do. */
  sharersOf(account: string, documentKey: string): Promise<readonly string[]>
}

/**
 * Access to the mirror for applying facts. A writing transaction (`MirrorWriter`) and a comparison that only records what it would write
 * implement it, so both have the same result.
 */
export interface MirrorAccess extends MirrorReading {
  insert(entity: Entity, rows: readonly Row[], changes: readonly Change[]): Promise<void>
  update(entity: Entity, columns: readonly string[], rows: readonly Row[], changes: readonly Change[]): Promise<void>
  /** Creates missing submissions. @param keys distinct, sorted by key. @returns all their rows, and the keys of the new ones. */
  lockSubmissions(
    keys: readonly Row[],
    trackedAt: TimeText,
    via: (key: Row) => string,
  ): Promise<{ readonly rows: readonly Row[]; readonly added: readonly Row[] }>
  /** @returns the purged ones of the given submissions, each as `account submission_id`. @param keys distinct. */
  purgedAmong(keys: readonly Row[]): Promise<ReadonlySet<string>>
  /** Adds the reads of new submissions. */
  addReads(places: readonly SubmissionRef[], now: TimeText, live: boolean): Promise<void>
  /** Claims the right to apply a state read (invariant 6). */
  takeApplied(fact: StateFact): Promise<Taken>
}
