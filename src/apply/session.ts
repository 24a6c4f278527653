import type { Change } from '../model/change.ts'
import {
  type LaneRow,
  lanes,
  type MarketEventRow,
  marketEvents,
  type QuoteHistoryRow,
  type QuoteRow,
  quoteHistory,
  quotes,
  type SourceOfferRow,
  type SubmissionRow,
  sourceOffers,
  submissions,
  type ThreadAttachmentRow,
  type ThreadMessageRow,
  threadAttachments,
  threadMessages,
} from '../model/entities.ts'
import type { Origin, Place } from '../model/facts.ts'
import type { ReadKind } from '../model/records.ts'
import { msFromTime, type TimeText } from '../model/time.ts'
import type { Arrival, Conflict } from '../store/evidence.ts'
import type { MirrorAccess } from '../store/mirror-access.ts'
import type { Wake } from '../store/reads.ts'
import { WorkingSet } from './working-set.ts'

/** What is older than this when its submission became known is history, not news. */
const BACKFILL_AFTER_MS = 3_600_000

/** What one transaction of `apply` works on: a working set per table, and what it leaves for later. */
export class Session {
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

  askReplay(place: Place): void {
    this.replays.set(`${place.account} ${place.submissionId}`, { account: place.account, submissionId: place.submissionId })
  }

  /** Whether a record of a first walk is history: it happened more than an hour before its submission was tracked. */
  isBackfill(place: Place & Origin, occurredAt: TimeText): boolean {
    if (!place.firstWalk) return false
    const submission = this.submissions.get({ account: place.account, submission_id: place.submissionId })
    return submission?.tracked_at != null && msFromTime(occurredAt) < msFromTime(submission.tracked_at) - BACKFILL_AFTER_MS
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
