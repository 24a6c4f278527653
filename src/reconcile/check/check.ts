import type PQueue from 'p-queue'
import { type Differences, differs } from '../../apply/compare.ts'
import type { EventFact, Fact, MessageFact, Place, StateFact } from '../../model/facts.ts'
import { type Feed, feeds, type ReadKind, type StateRead, stateReads } from '../../model/reads.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import { readState } from '../../read/state.ts'
import type { Held } from '../../store/mirror/absences.ts'
import { MirrorReader } from '../../store/mirror/reader.ts'
import { isMisnamedReported } from '../../store/reconcile/findings.ts'
import { restoreReads, takeReadNumber } from '../../store/reconcile/progress.ts'
import type { Candidate } from '../../store/reconcile/queue.ts'
import type { UpstreamClient } from '../../upstream/client.ts'
import { standing, stillUnshown, unshown } from './absences.ts'
import { type Attempt, attempt, attemptFeed, type Failure } from './attempts.ts'
import { type Comparer, derivedFacts, type Verdict } from './comparer.ts'
import { Finder, finding } from './finding.ts'
import { Mender, type MenderParts } from './mender.ts'
import { PendingCorrections } from './pending-corrections.ts'
import { type Replay, replayFeed } from './replay.ts'

/** What all checks of a run share. */
export interface CheckParts extends MenderParts {
  readonly account: string
  readonly runId: string
  readonly client: UpstreamClient
  readonly comparer: Comparer
  /** Reads at once. */
  readonly slots: PQueue
  readonly withState: boolean
}

/** What became of a check. */
export interface Checked {
  /** The mirror was found, or made, equal to all that the service shows: what was not asked for, such as the state, is not proved. */
  readonly proved: boolean
  /** Rows that were compared. */
  readonly compared: number
  /** Why nothing of it could be read; null when something could. */
  readonly failure: Failure | null
}

type Records = readonly (EventFact | MessageFact)[]
/** A read that could not be made. */
type Unread = { readonly read: ReadKind; readonly failure: Failure }

/** A read of the state that another goes before is made so often. */
const STATE_TRIES = 3
/** So many records at most are marked in one transaction: on SQLite it stays short (invariant 13). */
const MARKED = 100

/**
 * Checks one submission. Its state is read first, then both feeds from the empty cursor. When all agrees with the mirror, nothing is
 * written. What differs is corrected through apply, the state before the records, since a lane that the rail names is the rail's.
 * State that differs is read a second time, under a number of its own (invariant 6); records that were not shown are looked for in a
 * second replay, and what of a record would be emptied or changed is read there once more. A dry run goes the same way and only reports.
 */
export class SubmissionCheck {
  readonly #o: CheckParts
  readonly #candidate: Candidate
  readonly #place: Place
  readonly #mender: Mender
  readonly #signal: AbortSignal
  #compared = 0
  readonly #states = new Map<StateRead, StateFact>()
  /** Before the first page; behind the last it is looked at once more. */
  #stateLooked = false
  readonly #doubts = new PendingCorrections()
  /** Second replays. */
  readonly #again = new Map<Feed, Replay>()

  constructor(parts: CheckParts, candidate: Candidate, signal: AbortSignal) {
    const { submissionId, eventsReadAt, threadReadAt } = candidate
    this.#o = parts
    this.#candidate = candidate
    this.#place = { account: parts.account, submissionId }
    this.#mender = new Mender(parts, this.#place, new Finder(submissionId, { events: eventsReadAt, thread: threadReadAt }))
    this.#signal = signal
  }

  /** @throws what the store throws; AuthRefusedError; the reason of the signal when it aborts. */
  async run(): Promise<Checked> {
    const { db, account, clock, dryRun } = this.#o
    if (parseUuid(this.#place.submissionId) !== this.#place.submissionId) return await this.#misnamed()
    const begunAt = timeFromMs(clock.now())
    if (this.#candidate.unpolled && !dryRun) await restoreReads(db, account, this.#place.submissionId)
    const read = await this.#o.slots.add(() => this.#readAll())
    const { replays, failures } = read
    const [failed] = failures
    const nothingRead = replays.length === 0 && this.#states.size === 0
    const isThere = failures.every(({ failure }) => failure.class !== 'gone')
    if (failed && nothingRead && failures.every(({ failure }) => failure.class === 'gone'))
      return await this.#gone(failed.read, failed.failure)
    for (const { read, failure } of failures) await this.#leaveUnread(read, failure)
    if (failed && nothingRead) {
      await this.#endPages(isThere)
      return { proved: false, compared: this.#compared, failure: failed.failure }
    }
    const records = replays.flatMap((replay) => replay.facts ?? [])
    const isWhole = replays.length === feeds.length && replays.every((replay) => replay.facts !== null)
    const states = [...this.#states.values()]
    const verdict = await this.#o.comparer.compare({ submissionId: this.#place.submissionId, states, records, isWhole, isThere })
    await this.#mendVerdict(verdict, records)
    const reader = this.#mender.mended ? new MirrorReader(db.read, account) : verdict.reader
    for (const replay of replays) await this.#lookForAbsent(reader, replay, begunAt)
    if (this.#mender.mended || differs(verdict.derived)) await this.#mendDerived(isThere)
    for (const { feed, unreadable } of replays) {
      await this.#mender.keepUnreadable(
        feed,
        unreadable.map(({ raw }) => raw),
      )
    }
    for (const [read, { view }] of this.#states) await this.#mender.keepUnreadable(read, view.unreadable)
    return { proved: this.#o.withState && !this.#mender.left, compared: this.#compared, failure: null }
  }

  /** Reads state and feeds; one that cannot be read keeps no other from being read. */
  async #readAll(): Promise<{ replays: readonly Replay[]; failures: readonly Unread[] }> {
    const replays: Replay[] = []
    const failures: Unread[] = []
    for (const read of this.#o.withState ? stateReads : []) {
      const state = await this.#readState(read, 0)
      if (state.ok) {
        this.#states.set(read, state.value)
        this.#compared += rowsOf(state.value)
      } else failures.push({ read, failure: state.failure })
    }
    for (const feed of feeds) {
      const read = await this.#replay(feed, (page) => this.#mendPage(page))
      if (read.ok) {
        replays.push(read.value)
        this.#compared += read.value.compared
      } else failures.push({ read: feed, failure: read.failure })
    }
    return { replays, failures }
  }

  #readState(read: StateRead, readNo: number): Promise<Attempt<StateFact>> {
    const { client, clock } = this.#o
    return attempt(clock, client, this.#signal, async () => {
      const view = await readState(client, read, this.#place.submissionId, this.#signal, 'background')
      return { kind: 'state', read, ...this.#place, cause: 'reconcile', view, readNo, readAt: timeFromMs(clock.now()) }
    })
  }

  #replay(feed: Feed, onPage: (page: Records) => Promise<void>): Promise<Attempt<Replay>> {
    const { client, clock } = this.#o
    const first = feed === 'events' ? this.#candidate.firstEvents : this.#candidate.firstThread
    return attemptFeed(clock, client, this.#signal, (patient) => replayFeed(patient, this.#place, feed, first, onPage, this.#signal))
  }

  /** Compares a page of a long feed while the next is read. */
  async #mendPage(page: Records): Promise<void> {
    if (!this.#stateLooked) {
      this.#stateLooked = true
      await this.#mendStates()
    }
    if (page.length > 0) await this.#mendRecords(page, await this.#mender.compare(page))
  }

  async #mendVerdict(verdict: Verdict, records: Records): Promise<void> {
    const stateDiffers = differs(verdict.state)
    if (stateDiffers) await this.#o.slots.add(() => this.#mendStates())
    // With the lanes in place, less may differ than before.
    await this.#mendRecords(records, stateDiffers && records.length > 0 ? await this.#mender.compare(records) : verdict.records)
    await this.#confirm()
  }

  /** Puts records right; those in which something would be emptied or changed wait for a second replay. */
  async #mendRecords(records: Records, differences: Differences): Promise<void> {
    const { facts, differ } = this.#doubts.hold(records, differences)
    if (differ && facts.length > 0) await this.#mender.mend(facts, null)
  }

  /** Replays once more the feeds of which records wait, and corrects what both replays say. */
  async #confirm(): Promise<void> {
    for (const feed of feeds) {
      if (!this.#doubts.has(feed)) continue
      const again = await this.#o.slots.add(() => this.#replay(feed, (page) => this.#settle(page)))
      if (again.ok) {
        this.#again.set(feed, again.value)
        await this.#settle(again.value.facts ?? [])
        await this.#abandon(feed, 'two replays say different things of it')
      } else {
        await this.#leaveUnread(feed, again.failure)
        await this.#abandon(feed, 'it differs, and could not be read a second time')
      }
    }
  }

  async #settle(page: Records): Promise<void> {
    const waiting = this.#doubts.filter(page)
    if (waiting.length === 0) return
    const facts = this.#doubts.confirm(waiting, await this.#mender.compare(waiting))
    if (facts.length > 0) await this.#mender.mend(facts, null)
  }

  async #abandon(feed: Feed, why: string): Promise<void> {
    await this.#mender.leave(this.#doubts.discard(this.#place.submissionId, feed, why))
  }

  async #mendStates(): Promise<void> {
    for (const [read, state] of this.#states) {
      if (differs(await this.#mender.compare([state]))) await this.#mendState(read)
    }
  }

  /**
   * Reads the state a second time, so that what has moved since is not taken for drift, and puts right what differs then too. A read that
   * was overtaken by another says nothing of what that one left: it is made once more.
   */
  async #mendState(read: StateRead): Promise<void> {
    const { db, account, dryRun } = this.#o
    for (let tries = 1; tries <= STATE_TRIES; tries += 1) {
      const readNo = dryRun ? 0 : await takeReadNumber(db, account, this.#place.submissionId, read)
      const again = await this.#readState(read, readNo ?? 0)
      if (!again.ok) return await this.#leaveUnread(read, again.failure)
      this.#states.set(read, again.value)
      if (await this.#mender.mend([again.value], read)) return
    }
    const reason = 'each time another read, sent later, was applied first'
    await this.#leaveUnread(read, { class: 'overtaken', reason, tries: STATE_TRIES })
  }

  async #lookForAbsent(reader: MirrorReader, replay: Replay, begunAt: TimeText): Promise<void> {
    const { db, account } = this.#o
    const { submissionId } = this.#place
    const { feed } = replay
    const { fresh, marked } = await unshown(db, reader, account, submissionId, replay, begunAt)
    if (marked.length > 0) await this.#mender.leave(standing(submissionId, feed, marked))
    if (fresh.length === 0) return
    const again = await this.#replayedAgain(feed)
    if (!again.ok) return await this.#leaveUnread(feed, again.failure)
    const absent = stillUnshown(fresh, again.value.shown)
    for (let from = 0; from < absent.length; from += MARKED) await this.#mark(feed, absent.slice(from, from + MARKED))
  }

  async #replayedAgain(feed: Feed): Promise<Attempt<Replay>> {
    const value = this.#again.get(feed)
    return value ? { ok: true, value } : await this.#o.slots.add(() => this.#replay(feed, async () => {}))
  }

  async #mark(feed: Feed, absent: readonly Held[]): Promise<void> {
    const ids = absent.filter(({ position }) => position === null).map(({ id }) => id)
    const attachments = absent.flatMap(({ id, position }) => (position === null ? [] : [{ messageId: id, position }]))
    const goneAt = timeFromMs(this.#o.clock.now())
    const split = feed === 'events' ? { events: ids, messages: [] } : { events: [], messages: ids }
    const fact: Fact = { kind: 'absent', ...this.#place, cause: 'reconcile', ...split, attachments, goneAt }
    await this.#mender.mend([fact], null)
  }

  /** Puts right what follows from the records, and, when it is, that the submission is there. */
  async #mendDerived(isThere: boolean): Promise<void> {
    const facts = derivedFacts(this.#place, timeFromMs(this.#o.clock.now()), isThere)
    if (differs(await this.#mender.compare(facts))) await this.#mender.mend(facts, null)
  }

  /** Asked for it, the service would tell of the submission whose id it is in lower case, which is another here. */
  async #misnamed(): Promise<Checked> {
    const { db, account, runId } = this.#o
    const { submissionId } = this.#place
    const about = { submissionId, entity: 'submissions', entityId: JSON.stringify([submissionId]) }
    const standing = await isMisnamedReported(db.read, account, submissionId, runId)
    const detail = 'its id is no uuid in lower case, so the service cannot have it: somebody has put it there; delete its rows by hand'
    await this.#mender.leave([finding({ ...about, kind: 'absent', standing, detail })])
    return { proved: false, compared: 0, failure: null }
  }

  /** The service knows nothing of the submission, so nothing of it is compared. */
  async #gone(read: ReadKind, failure: Failure): Promise<Checked> {
    await this.#endPages(false)
    const { submissionId, unreachableSince } = this.#candidate
    if (unreachableSince !== null) {
      const detail = `the service does not know it; marked as unreachable since ${unreachableSince}`
      const about = { submissionId, entity: 'submissions', entityId: JSON.stringify([submissionId]), read }
      await this.#mender.leave([finding({ ...about, kind: 'absent', standing: true, detail })])
    } else await this.#leaveUnread(read, failure)
    return { proved: false, compared: this.#compared, failure }
  }

  /** Nothing more can be read; what pages said that came before is in the mirror already. */
  async #endPages(isThere: boolean): Promise<void> {
    for (const feed of feeds) await this.#abandon(feed, 'it differs, and could not be read a second time')
    if (this.#mender.mended) await this.#mendDerived(isThere)
  }

  async #leaveUnread(read: ReadKind, failure: Failure): Promise<void> {
    const { submissionId } = this.#place
    const reason = failure.reason.replace(`${read} of submission ${submissionId}: `, '')
    const tries = failure.tries === 1 ? '1 try' : `${failure.tries} tries`
    const detail = `${read} could not be read in ${tries}: ${reason}`.slice(0, 500)
    await this.#mender.leave([finding({ kind: 'unreadable', submissionId, read, detail })])
  }
}

/** How many rows a view shows. */
function rowsOf({ view }: StateFact): number {
  return view.lists.reduce((sum, { rows }) => sum + rows.length, 1)
}
