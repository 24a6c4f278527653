import type PQueue from 'p-queue'
import { type Differences, differs } from '../../apply/compare.ts'
import { insuredsIn } from '../../apply/known-ids.ts'
import type { EventFact, Fact, MessageFact, Place, StateFact } from '../../model/facts.ts'
import { type Feed, feeds } from '../../model/reads.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { ViewPart } from '../../model/view.ts'
import type { StoredRecord } from '../../store/mirror/absences.ts'
import { MirrorReader } from '../../store/mirror/reader.ts'
import { isMisnamedReported } from '../../store/reconcile/findings.ts'
import { restoreReads } from '../../store/reconcile/progress.ts'
import type { Candidate } from '../../store/reconcile/queue.ts'
import { findAbsent, knownAbsences, stillAbsent } from './absences.ts'
import { type Attempt, attemptFeed, type Failure } from './attempts.ts'
import { type Comparer, type Comparison, derivedFacts } from './comparer.ts'
import { FindingBuilder, finding } from './finding.ts'
import type { IdStateContext } from './id-states.ts'
import { PendingCorrections } from './pending-corrections.ts'
import { type RepairContext, Repairer } from './repairer.ts'
import { type Replay, replayFeed } from './replay.ts'
import { type FailedRead, StateReads } from './state-reads.ts'
import { findUnconfirmed } from './unconfirmed.ts'

/** What all checks of one run share. */
export interface CheckContext extends RepairContext, IdStateContext {
  readonly account: string
  readonly runId: string
  readonly comparer: Comparer
  /** Limits the submissions that are read from the service at the same time. */
  readonly slots: PQueue
  readonly withState: boolean
}

export interface CheckResult {
  /** Whether the mirror now equals everything that the service shows. Never when the state was left out. */
  readonly isProved: boolean
  /** Parts of the requirements view that nothing confirmed, because the answer left them out. */
  readonly unconfirmed: readonly ViewPart[]
  /** Number of rows that were compared. */
  readonly compared: number
  /** Why nothing could be read; null when at least one read succeeded. */
  readonly failure: Failure | null
}

type Records = readonly (EventFact | MessageFact)[]

/** Attempts at a state read that is overtaken by a later one each time. */
const MAX_STATE_READS = 3
/** Records marked as gone in one transaction; few enough to keep it short on SQLite (invariant 13). */
const MARK_BATCH = 100

/**
 * Checks one submission:
 *
 * 1. Reads its state, then replays both feeds from the empty cursor.
 * 2. Compares all of it with the mirror. Without a difference nothing is written.
 * 3. Repairs differences through apply. State goes before records, because the rail is the authority for the lanes that it names.
 *    State that differs is read a second time first, with a read number (invariant 6).
 * 4. Replays a feed a second time when a repair would empty or change a stored value, or when records did not show up. Only what both
 *    replays agree on is repaired, or marked as gone.
 *
 * A dry run takes the same steps and only reports.
 */
export class SubmissionCheck {
  readonly #o: CheckContext
  readonly #candidate: Candidate
  readonly #place: Place
  readonly #repairer: Repairer
  readonly #signal: AbortSignal
  #compared = 0
  readonly #states: StateReads
  /** Whether the states were compared already, before the first page of a long feed. They are compared again after the last. */
  #statesCompared = false
  readonly #pending = new PendingCorrections()
  readonly #secondReplays = new Map<Feed, Replay>()

  constructor(parts: CheckContext, candidate: Candidate, signal: AbortSignal) {
    const { submissionId, eventsReadAt, threadReadAt } = candidate
    this.#o = parts
    this.#candidate = candidate
    this.#place = { account: parts.account, submissionId }
    this.#repairer = new Repairer(parts, this.#place, new FindingBuilder(submissionId, { events: eventsReadAt, thread: threadReadAt }))
    this.#signal = signal
    this.#states = new StateReads(parts, this.#place, signal)
  }

  /** @throws what the store throws; AuthRefusedError; the reason of the signal when it aborts. */
  async run(): Promise<CheckResult> {
    const { db, account, clock, dryRun } = this.#o
    if (parseUuid(this.#place.submissionId) !== this.#place.submissionId) return await this.#reportMisnamed()
    const begunAt = timeFromMs(clock.now())
    if (this.#candidate.unpolled && !dryRun) await restoreReads(db, account, this.#place.submissionId)
    const { replays, failures } = await this.#o.slots.add(() => this.#readAll())
    const [firstFailed] = failures
    const isThere = failures.every(({ failure }) => failure.class !== 'gone')
    const isNothingRead = replays.length === 0 && this.#states.all.length === 0
    if (firstFailed && isNothingRead && failures.every(({ failure }) => failure.class === 'gone'))
      return await this.#reportGone(firstFailed)
    for (const failed of failures) await this.#reportFailedRead(failed)
    if (firstFailed && isNothingRead) {
      await this.#finishPages(isThere)
      return { isProved: false, unconfirmed: [], compared: this.#compared, failure: firstFailed.failure }
    }
    const records = replays.flatMap((replay) => replay.facts ?? [])
    const isWhole = replays.length === feeds.length && replays.every((replay) => replay.facts !== null)
    const states = this.#states.all
    const comparison = await this.#o.comparer.compare({ submissionId: this.#place.submissionId, states, records, isWhole, isThere })
    await this.#repairDifferences(comparison, records)
    const reader = this.#repairer.hasRepaired ? new MirrorReader(db.read, account) : comparison.reader
    for (const replay of replays) await this.#markAbsent(reader, replay, begunAt)
    if (this.#repairer.hasRepaired || differs(comparison.derived)) await this.#repairDerived(isThere, records)
    for (const { feed, unreadable } of replays) {
      const raws = unreadable.map(({ raw }) => raw)
      await this.#repairer.reportUnreadable(feed, raws)
    }
    for (const { read, view } of this.#states.all) await this.#repairer.reportUnreadable(read, view.unreadable)
    const unconfirmed = await findUnconfirmed(reader, this.#place, this.#states.all)
    await this.#repairer.report(unconfirmed.map(({ finding }) => finding))
    return {
      isProved: this.#o.withState && !this.#repairer.isIncomplete,
      unconfirmed: unconfirmed.map(({ part }) => part),
      compared: this.#compared,
      failure: null,
    }
  }

  /** Reads state and feeds. A read that fails does not stop the others. */
  async #readAll(): Promise<{ replays: readonly Replay[]; failures: readonly FailedRead[] }> {
    const replays: Replay[] = []
    const failures = this.#o.withState ? await this.#states.readAll() : []
    this.#compared += this.#states.rows
    for (const feed of feeds) {
      const read = await this.#replay(feed, (page) => this.#repairPage(page))
      if (read.ok) {
        replays.push(read.value)
        this.#compared += read.value.compared
      } else failures.push({ read: feed, failure: read.failure })
    }
    return { replays, failures }
  }

  #replay(feed: Feed, onPage: (page: Records) => Promise<void>): Promise<Attempt<Replay>> {
    const { client, clock } = this.#o
    const first = feed === 'events' ? this.#candidate.firstEvents : this.#candidate.firstThread
    return attemptFeed(clock, client, this.#signal, (retrying) => replayFeed(retrying, this.#place, feed, first, onPage, this.#signal))
  }

  /** Compares and repairs one page of a long feed while the next one is being read. */
  async #repairPage(page: Records): Promise<void> {
    if (!this.#statesCompared) {
      this.#statesCompared = true
      await this.#repairStates()
    }
    if (page.length > 0) await this.#repairRecords(page, await this.#repairer.compare(page))
  }

  async #repairDifferences(comparison: Comparison, records: Records): Promise<void> {
    const stateDiffers = differs(comparison.state)
    if (stateDiffers) await this.#o.slots.add(() => this.#repairStates())
    // With the lanes repaired, fewer records may differ than before.
    await this.#repairRecords(records, stateDiffers && records.length > 0 ? await this.#repairer.compare(records) : comparison.records)
    await this.#confirmPending()
  }

  /** Repairs records. Those in which a stored value would be emptied or changed wait for a second replay. */
  async #repairRecords(records: Records, differences: Differences): Promise<void> {
    const { facts, differ } = this.#pending.hold(records, differences)
    if (differ && facts.length > 0) await this.#repairer.repair(facts, null)
  }

  /** Replays the feeds of waiting records a second time, and repairs what both replays agree on. */
  async #confirmPending(): Promise<void> {
    for (const feed of feeds) {
      if (!this.#pending.has(feed)) continue
      const again = await this.#o.slots.add(() => this.#replay(feed, (page) => this.#confirmPage(page)))
      if (again.ok) {
        this.#secondReplays.set(feed, again.value)
        await this.#confirmPage(again.value.facts ?? [])
        await this.#discardPending(feed, 'two replays disagree on it')
      } else {
        await this.#reportFailedRead({ read: feed, failure: again.failure })
        await this.#discardPending(feed, 'it differs, and could not be read a second time')
      }
    }
  }

  async #confirmPage(page: Records): Promise<void> {
    const waiting = this.#pending.filter(page)
    if (waiting.length === 0) return
    const facts = this.#pending.confirm(waiting, await this.#repairer.compare(waiting))
    if (facts.length > 0) await this.#repairer.repair(facts, null)
  }

  async #discardPending(feed: Feed, why: string): Promise<void> {
    await this.#repairer.report(this.#pending.discard(this.#place.submissionId, feed, why))
  }

  async #repairStates(): Promise<void> {
    for (const state of this.#states.all) {
      if (differs(await this.#repairer.compare([state]))) await this.#repairState(state)
    }
  }

  /**
   * Reads the state a second time, so that a change since the first read is no difference, and repairs what still differs. A read
   * that was overtaken by a later one is repeated: it tells nothing about what that one left.
   */
  async #repairState(state: StateFact): Promise<void> {
    const { read } = state
    for (let attempts = 1; attempts <= MAX_STATE_READS; attempts += 1) {
      const again = await this.#states.readAgain(state)
      if (!again.ok) return await this.#reportFailedRead({ read, failure: again.failure })
      if (await this.#repairer.repair([again.value], read)) return
    }
    const reason = 'each time a read that was sent later was applied first'
    await this.#reportFailedRead({ read, failure: { class: 'overtaken', reason, attempts: MAX_STATE_READS } })
  }

  async #markAbsent(reader: MirrorReader, replay: Replay, begunAt: TimeText): Promise<void> {
    const { db, account } = this.#o
    const { submissionId } = this.#place
    const { feed } = replay
    const { unmarked, marked } = await findAbsent(db, reader, account, submissionId, replay, begunAt)
    if (marked.length > 0) await this.#repairer.report(knownAbsences(submissionId, feed, marked))
    if (unmarked.length === 0) return
    const again = await this.#secondReplay(feed)
    if (!again.ok) return await this.#reportFailedRead({ read: feed, failure: again.failure })
    const absent = stillAbsent(unmarked, again.value.shown)
    for (let from = 0; from < absent.length; from += MARK_BATCH) await this.#markBatch(feed, absent.slice(from, from + MARK_BATCH))
  }

  async #secondReplay(feed: Feed): Promise<Attempt<Replay>> {
    const value = this.#secondReplays.get(feed)
    return value ? { ok: true, value } : await this.#o.slots.add(() => this.#replay(feed, async () => {}))
  }

  async #markBatch(feed: Feed, absent: readonly StoredRecord[]): Promise<void> {
    const ids = absent.filter(({ position }) => position === null).map(({ id }) => id)
    const attachments = absent.flatMap(({ id, position }) => (position === null ? [] : [{ messageId: id, position }]))
    const goneAt = timeFromMs(this.#o.clock.now())
    const records = feed === 'events' ? { events: ids, messages: [] } : { events: [], messages: ids }
    const fact: Fact = { kind: 'absent', ...this.#place, cause: 'reconcile', ...records, attachments, goneAt }
    await this.#repairer.repair([fact], null)
  }

  /** Repairs what is derived from the records and, when the service knows the submission, `unreachable_since`. */
  async #repairDerived(isThere: boolean, records: Records = []): Promise<void> {
    const insuredIds = insuredsIn([...this.#states.all, ...records])
    const facts = derivedFacts(this.#place, timeFromMs(this.#o.clock.now()), isThere, insuredIds)
    if (differs(await this.#repairer.compare(facts))) await this.#repairer.repair(facts, null)
  }

  /** Reports an id that is no lower-case UUID. The service would answer with the submission of the lower-case id, a different row here. */
  async #reportMisnamed(): Promise<CheckResult> {
    const { db, account, runId } = this.#o
    const { submissionId } = this.#place
    const about = { submissionId, entity: 'submissions', entityId: JSON.stringify([submissionId]) }
    const standing = await isMisnamedReported(db.read, account, submissionId, runId)
    const detail = 'its id is no lower-case UUID, so it did not come from the service; delete its rows by hand'
    await this.#repairer.report([finding({ ...about, kind: 'absent', standing, detail })])
    return { isProved: false, unconfirmed: [], compared: 0, failure: null }
  }

  /** The service does not know the submission, so nothing is compared. */
  async #reportGone({ read, failure }: FailedRead): Promise<CheckResult> {
    await this.#finishPages(false)
    const { submissionId, unreachableSince } = this.#candidate
    if (unreachableSince !== null) {
      const detail = `the service does not know it (404); marked as unreachable since ${unreachableSince}`
      const about = { submissionId, entity: 'submissions', entityId: JSON.stringify([submissionId]), read }
      await this.#repairer.report([finding({ ...about, kind: 'absent', standing: true, detail })])
    } else await this.#reportFailedRead({ read, failure })
    return { isProved: false, unconfirmed: [], compared: this.#compared, failure }
  }

  /** Ends a check in which no read succeeded. Pages read before the failure are in the mirror already. */
  async #finishPages(isThere: boolean): Promise<void> {
    for (const feed of feeds) await this.#discardPending(feed, 'it differs, and could not be read a second time')
    if (this.#repairer.hasRepaired) await this.#repairDerived(isThere)
  }

  async #reportFailedRead({ read, failure }: FailedRead): Promise<void> {
    const { submissionId } = this.#place
    const reason = failure.reason.replace(`${read} of submission ${submissionId}: `, '')
    const attempts = failure.attempts === 1 ? '1 attempt' : `${failure.attempts} attempts`
    const detail = `${read} could not be read in ${attempts}: ${reason}`.slice(0, 500)
    await this.#repairer.report([finding({ kind: 'unreadable', submissionId, read, detail })])
  }
}
