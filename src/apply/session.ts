import type { Change } from '../model/change.ts'
import { lanes } from '../model/entities/lanes.ts'
import { marketEvents } from '../model/entities/market-events.ts'
import { type SubmissionRow, submissions } from '../model/entities/submissions.ts'
import { threadAttachments } from '../model/entities/thread-attachments.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { entities } from '../model/entities.ts'
import type { Entity, RowOf } from '../model/entity.ts'
import { isBetterKnown } from '../model/known-ids.ts'
import type { Origin, SubmissionRef } from '../model/observations.ts'
import type { OwnRead } from '../model/reads.ts'
import type { Cause } from '../model/records.ts'
import { msFromTime, type TimeText } from '../model/time.ts'
import type { MirrorAccess } from '../store/mirror/access.ts'
import type { Arrival, Conflict } from '../store/mirror/conflicts.ts'
import type { SharedDocument } from '../store/mirror/shared-documents.ts'
import type { NewKnownId } from '../store/reads/known-ids.ts'
import type { Wake } from '../store/reads/reads.ts'
import { WorkingSet } from './working-set.ts'

/** A record from the first feed read is history if it occurred more than this many ms before tracking began. */
const BACKFILL_AFTER_MS = 3_600_000

/** State of one apply transaction: a `WorkingSet` for each table, and other data to write after the tables. */
export class ApplySession {
  readonly access: MirrorAccess
  readonly now: TimeText
  readonly #sets: ReadonlyMap<string, WorkingSet>
  readonly submissions: WorkingSet<SubmissionRow>
  readonly marketEvents: WorkingSet<RowOf<typeof marketEvents>>
  readonly threadMessages: WorkingSet<RowOf<typeof threadMessages>>
  readonly threadAttachments: WorkingSet<RowOf<typeof threadAttachments>>
  readonly lanes: WorkingSet<RowOf<typeof lanes>>
  readonly wakes: Wake[] = []
  readonly fullReads = new Map<string, SubmissionRef>()
  readonly arrivals: Arrival[] = []
  readonly conflicts: Conflict[] = []
  /** Purged submissions whose observations were skipped. Each is the text `account submission_id`. */
  readonly purged = new Set<string>()
  /** Ids that the observations name. Each key is the text `account kind id`. */
  readonly knownIds = new Map<string, NewKnownId & { readonly cause: Cause }>()
  /** Old and new submissions of records that moved to another submission. */
  readonly movedPlaces: (SubmissionRef & { readonly cause: Cause })[] = []
  /** Documents that several submissions name. Contains one entry for each document and submission. */
  readonly sharedDocuments: SharedDocument[] = []
  /** Documents without a stored file that got a new link. */
  readonly newLinks: { readonly account: string; readonly document_key: string }[] = []
  inserted = 0

  constructor(access: MirrorAccess, now: TimeText) {
    this.access = access
    this.now = now
    this.#sets = new Map(entities.map((entity) => [entity.table, new WorkingSet(access, entity)]))
    this.submissions = this.of(submissions)
    this.marketEvents = this.of(marketEvents)
    this.threadMessages = this.of(threadMessages)
    this.threadAttachments = this.of(threadAttachments)
    this.lanes = this.of(lanes)
  }

  of<E extends Entity>({ table }: E): WorkingSet<RowOf<E>> {
    const set = this.#sets.get(table)
    if (set === undefined) throw new Error(`${table} is not a table of service data`)
    return set as unknown as WorkingSet<RowOf<E>>
  }

  wake(place: SubmissionRef, ...reads: OwnRead[]): void {
    for (const read of reads) this.wakes.push({ account: place.account, submissionId: place.submissionId, read })
  }

  noteKnownId(found: NewKnownId, cause: Cause): void {
    const key = `${found.account} ${found.kind} ${found.id}`
    if (isBetterKnown(found, this.knownIds.get(key))) this.knownIds.set(key, { ...found, cause })
  }

  requestFullRead(place: SubmissionRef): void {
    this.fullReads.set(`${place.account} ${place.submissionId}`, { account: place.account, submissionId: place.submissionId })
  }

  notePurged({ account, submissionId }: SubmissionRef): true {
    this.purged.add(`${account} ${submissionId}`)
    return true
  }

  /**
   * Whether a record is history: the first feed read found the record, and the record occurred more than an hour before
   * its submission's tracking began.
   */
  isBackfill(place: SubmissionRef & Origin, occurredAt: TimeText): boolean {
    return this.#leadMs(place, occurredAt) > BACKFILL_AFTER_MS
  }

  /**
   * Whether a record is too old to expect a webhook for it. True if the first feed read found the record and the record
   * occurred before its submission's tracking began. If a webhook started the tracking, webhooks already worked. The
   * record must then have occurred more than an hour before the tracking began.
   */
  isBeforeWebhooks(place: SubmissionRef & Origin, occurredAt: TimeText): boolean {
    const marginMs = this.#submissionOf(place)?.tracked_via === 'webhook' ? BACKFILL_AFTER_MS : 0
    return this.#leadMs(place, occurredAt) > marginMs
  }

  /**
   * @returns the time from a record to the start of its submission's tracking, in ms. Negative if the record occurred
   * after the start. -Infinity if a later feed read or a webhook found the record.
   */
  #leadMs(place: SubmissionRef & Origin, occurredAt: TimeText): number {
    const trackedAt = place.firstFeedRead ? this.#submissionOf(place)?.tracked_at : null
    return trackedAt == null ? Number.NEGATIVE_INFINITY : msFromTime(trackedAt) - msFromTime(occurredAt)
  }

  #submissionOf({ account, submissionId }: SubmissionRef): SubmissionRow | null {
    return this.submissions.get({ account, submission_id: submissionId })
  }

  /** Writes all working sets. Parent tables come before their children. */
  async flush(): Promise<void> {
    for (const set of this.#sets.values()) await set.flush()
  }

  /** Updated rows without a change log entry: `raw` changed, but no column that the change log records. */
  get rawOnly(): Change[] {
    return [...this.#sets.values()].flatMap((set) => set.rawOnly)
  }
}
