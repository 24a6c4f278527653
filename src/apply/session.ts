import type { Change } from '../model/change.ts'
import { type LaneRow, lanes } from '../model/entities/lanes.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import { type QuoteHistoryRow, quoteHistory } from '../model/entities/quote-history.ts'
import { type QuoteRow, quotes } from '../model/entities/quotes.ts'
import { type SourceOfferRow, sourceOffers } from '../model/entities/source-offers.ts'
import { type SubmissionRow, submissions } from '../model/entities/submissions.ts'
import { type ThreadAttachmentRow, threadAttachments } from '../model/entities/thread-attachments.ts'
import { type ThreadMessageRow, threadMessages } from '../model/entities/thread-messages.ts'
import type { Origin, Place } from '../model/facts.ts'
import type { ReadKind } from '../model/reads.ts'
import { msFromTime, type TimeText } from '../model/time.ts'
import type { MirrorAccess } from '../store/mirror/access.ts'
import type { Arrival, Conflict } from '../store/mirror/evidence.ts'
import type { Wake } from '../store/reads/reads.ts'
import { WorkingSet } from './working-set.ts'

/** What is older than this when its submission became known is history, not news. */
const BACKFILL_AFTER_MS = 3_600_000

/** What one transaction of `apply` works on: a working set per table, and what it leaves for later. */
export class ApplySession {
  readonly access: MirrorAccess
  readonly now: TimeText
  readonly submissions: WorkingSet<SubmissionRow>
  readonly marketEvents: WorkingSet<MarketEventRow>
  readonly threadMessages: WorkingSet<ThreadMessageRow>
  readonly threadAttachments: WorkingSet<ThreadAttachmentRow>
  readonly lanes: WorkingSet<LaneRow>
  readonly quotes: WorkingSet<QuoteRow>
  readonly sourceOffers: WorkingSet<SourceOfferRow>
  readonly quoteHistory: WorkingSet<QuoteHistoryRow>
  readonly wakes: Wake[] = []
  readonly replays = new Map<string, Place>()
  readonly arrivals: Arrival[] = []
  readonly conflicts: Conflict[] = []
  inserted = 0

  constructor(access: MirrorAccess, now: TimeText) {
    this.access = access
    this.now = now
    this.submissions = new WorkingSet(access, submissions)
    this.marketEvents = new WorkingSet(access, marketEvents)
    this.threadMessages = new WorkingSet(access, threadMessages)
    this.threadAttachments = new WorkingSet(access, threadAttachments)
    this.lanes = new WorkingSet(access, lanes)
    this.quotes = new WorkingSet(access, quotes)
    this.sourceOffers = new WorkingSet(access, sourceOffers)
    this.quoteHistory = new WorkingSet(access, quoteHistory)
  }

  wake(place: Place, ...reads: ReadKind[]): void {
    for (const read of reads) this.wakes.push({ account: place.account, submissionId: place.submissionId, read })
  }

  requestReplay(place: Place): void {
    this.replays.set(`${place.account} ${place.submissionId}`, { account: place.account, submissionId: place.submissionId })
  }

  /** Whether a record of a first walk is history: it happened more than an hour before its submission was tracked. */
  isBackfill(place: Place & Origin, occurredAt: TimeText): boolean {
    return this.#leadMs(place, occurredAt) > BACKFILL_AFTER_MS
  }

  /**
   * Whether no webhook is to be expected for a record of a first walk: it is history, or it happened before an operator named the
   * submission, when there may have been no endpoint yet. Where a webhook made the submission known, there was one.
   */
  isUntold(place: Place & Origin, occurredAt: TimeText): boolean {
    const marginMs = this.#submissionOf(place)?.tracked_via === 'webhook' ? BACKFILL_AFTER_MS : 0
    return this.#leadMs(place, occurredAt) > marginMs
  }

  /** How long before its submission was tracked a record of a first walk happened, in milliseconds; of others, nothing is known. */
  #leadMs(place: Place & Origin, occurredAt: TimeText): number {
    const trackedAt = place.firstWalk ? this.#submissionOf(place)?.tracked_at : null
    return trackedAt == null ? Number.NEGATIVE_INFINITY : msFromTime(trackedAt) - msFromTime(occurredAt)
  }

  #submissionOf({ account, submissionId }: Place): SubmissionRow | null {
    return this.submissions.get({ account, submission_id: submissionId })
  }

  /** Writes every working set, parents before what hangs on them. */
  async flush(): Promise<void> {
    await this.submissions.flush()
    await this.marketEvents.flush()
    await this.threadMessages.flush()
    await this.threadAttachments.flush()
    await this.lanes.flush()
    await this.quotes.flush()
    await this.sourceOffers.flush()
    await this.quoteHistory.flush()
  }

  /** What `flush` wrote that is no row of the change log, because only `raw` differed. */
  get rawOnly(): Change[] {
    const sets = [this.submissions, this.marketEvents, this.threadMessages, this.threadAttachments]
    return [...sets, this.lanes, this.quotes, this.sourceOffers, this.quoteHistory].flatMap((set) => set.rawOnly)
  }
}
