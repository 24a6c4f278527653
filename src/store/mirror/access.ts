import type { Change } from '../../model/change.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { Place } from '../../model/facts.ts'
import type { ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'

/** What a submission's records come to that are not gone: the moments of the newest, and the newest event of each lane that one names. */
export interface Newest {
  readonly eventAt: TimeText | null
  readonly messageAt: TimeText | null
  /** Ids of events. */
  readonly laneEvents: readonly string[]
}

/** The mirror of one account, to be read. */
export interface MirrorReading {
  /** The rows of `keys`, and perhaps others. @param keys of one submission. */
  load(entity: Entity, keys: readonly Row[]): Promise<readonly Row[]>
  /** Every row of `entity` that belongs to the submission. */
  loadOfSubmission(entity: Entity, account: string, submissionId: string): Promise<readonly Row[]>
  newest(account: string, submissionId: string): Promise<Newest>
}

/**
 * The mirror as those who apply facts see it. Behind it stands a transaction that writes (`MirrorWriter`), or a comparison that only
 * notes what it would write: so both come to the same.
 */
export interface MirrorAccess extends MirrorReading {
  insert(entity: Entity, rows: readonly Row[], changes: readonly Change[]): Promise<void>
  update(entity: Entity, columns: readonly string[], rows: readonly Row[], changes: readonly Change[]): Promise<void>
  /**
   * Makes sure that the submissions exist.
   * @param keys distinct, sorted by key.
   * @returns their rows, and the keys of those that did not exist before.
   */
  lockSubmissions(
    keys: readonly Row[],
    trackedAt: TimeText,
    via: (key: Row) => string,
  ): Promise<{ readonly rows: readonly Row[]; readonly added: readonly Row[] }>
  /** Gives new submissions their reads. */
  addReads(places: readonly Place[], now: TimeText, live: boolean): Promise<void>
  /** @returns whether a state read of this number may be applied (invariant 6). */
  takeApplied(place: Place, read: ReadKind, readNo: number): Promise<boolean>
}
