import type PQueue from 'p-queue'
import { type Differences, differs } from '../../apply/compare.ts'
import { insuredsIn } from '../../apply/known-ids.ts'
import { isOfRail } from '../../apply/lanes.ts'
import { type LaneRow, lanes } from '../../model/entities/lanes.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { entityNamed } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import { hasValue } from '../../model/merge.ts'
import type { EventObservation, MessageObservation, Observation, StateObservation, SubmissionRef } from '../../model/observations.ts'
import { type Feed, feeds } from '../../model/reads.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import { partsShown, type ViewPart, viewParts } from '../../model/view.ts'
import type { StoredRecord } from '../../store/mirror/absences.ts'
import { MirrorReader } from '../../store/mirror/reader.ts'
import { isMisnamedReported } from '../../store/reconcile/findings.ts'
import { restoreReads } from '../../store/reconcile/progress.ts'
import type { Candidate } from '../../store/reconcile/queue.ts'
import { findAbsent, knownAbsences, stillAbsent } from './absences.ts'
import { type Attempt, attemptFeed, type Failure } from './attempts.ts'
import { type Comparer, type Comparison, derivedObservations } from './comparer.ts'
import { FindingBuilder, finding, type NewFinding } from './finding.ts'
import { type FullRead, reReadFeed } from './full-read.ts'
import type { IdStateContext } from './id-states.ts'
import { PendingCorrections } from './pending-corrections.ts'
import { type RepairContext, Repairer } from './repairer.ts'
import { type FailedRead, StateReads } from './state-reads.ts'

/** Parts that all checks of one run share. */
export interface CheckContext extends RepairContext, IdStateContext {
  readonly account: string
  readonly runId: string
  readonly comparer: Comparer
  /** Limits the number of concurrent reads. */
  readonly slots: PQueue
  readonly withState: boolean
}

export interface CheckResult {
  /** True if the mirror now equals the service. Always false if the run doesn't check state. */
  readonly isReconciled: boolean
  /** Parts of the requirements view that the answer lacked, although the mirror has rows of these parts. */
  readonly unconfirmed: readonly ViewPart[]
  readonly compared: number
  /** Why all reads failed; null if any read succeeded. */
  readonly failure: Failure | null
}

type Records = readonly (EventObservation | MessageObservation)[]

const MAX_STATE_READS = 3
/** Number of records that one transaction marks as gone. */
const MARK_BATCH = 100

/**
 * Checks one submission:
 * 1. Reads its state, then both feeds from the beginning.
 * 2. Compares the answers with the mirror. If both agree, the mirror stays unchanged.
 * 3. Repairs state first, then records, because the rail decides the current state of lanes. State that differs is
 *    read a second time before its repair.
 * 4. Before changing or clearing a stored value, or marking a record as gone, reads the feed a second time. Both
 *    full re-reads must agree.
 * A dry run takes the same steps, but only reports.
 */
export class SubmissionCheck {
  readonly #o: CheckContext
  readonly #candidate: Candidate
  readonly #place: SubmissionRef
  readonly #repairer: Repairer
  readonly #signal: AbortSignal
  #compared = 0
  readonly #states: StateReads
  /**
   * True if the states were compared before the first page of a long feed. The check compares all states again after
   * the last page.
   */
  #statesCompared = false
  readonly #pending = new PendingCorrections()
  readonly #secondReads = new Map<Feed, FullRead>()

  constructor(parts: CheckContext, candidate: Candidate, signal: AbortSignal) {
    const { submissionId, eventsReadAt, threadReadAt } = candidate
    this.#o = parts
    this.#candidate = candidate
    this.#place = { account: parts.account, submissionId }
    this.#repairer = new Repairer(parts, this.#place, new FindingBuilder(submissionId, { events: eventsReadAt, thread: threadReadAt }))
    this.#signal = signal
    this.#states = new StateReads(parts, this.#place, signal)
  }

  /** @throws database errors; AuthRefusedError; the abort reason of the signal. */
  async run(): Promise<CheckResult> {
    const { db, account, clock, dryRun } = this.#o
    if (parseUuid(this.#place.submissionId) !== this.#place.submissionId) return await this.#reportMisnamed()
    const begunAt = timeFromMs(clock.now())
    if (this.#candidate.unpolled && !dryRun) await restoreReads(db, account, this.#place.submissionId)
    const { reads, failures } = await this.#o.slots.add(() => this.#readAll())
    const [firstFailed] = failures
    const isThere = failures.every(({ failure }) => failure.class !== 'gone')
    const isNothingRead = reads.length === 0 && this.#states.all.length === 0
    if (firstFailed && isNothingRead && failures.every(({ failure }) => failure.class === 'gone'))
      return await this.#reportGone(firstFailed)
    for (const failed of failures) await this.#reportFailedRead(failed)
    if (firstFailed && isNothingRead) {
      await this.#finishPages(isThere)
      return { isReconciled: false, unconfirmed: [], compared: this.#compared, failure: firstFailed.failure }
    }
    const records = reads.flatMap((fullRead) => fullRead.observations ?? [])
    const isWhole = reads.length === feeds.length && reads.every((fullRead) => fullRead.observations !== null)
    const states = this.#states.all
    const comparison = await this.#o.comparer.compare({ submissionId: this.#place.submissionId, states, records, isWhole, isThere })
    await this.#repairDifferences(comparison, records)
    const reader = this.#repairer.hasRepaired ? new MirrorReader(db.read, account) : comparison.reader
    for (const fullRead of reads) await this.#markAbsent(reader, fullRead, begunAt)
    if (this.#repairer.hasRepaired || differs(comparison.derived)) await this.#repairDerived(isThere, records)
    for (const { feed, unreadable } of reads) {
      const raws = unreadable.map(({ raw }) => raw)
      await this.#repairer.reportUnreadable(feed, raws)
    }
    for (const { read, view } of this.#states.all) await this.#repairer.reportUnreadable(read, view.unreadable)
    const unconfirmed = await findUnconfirmed(reader, this.#place, this.#states.all)
    await this.#repairer.report(unconfirmed.map(({ finding }) => finding))
    return {
      isReconciled: this.#o.withState && !this.#repairer.isIncomplete,
      unconfirmed: unconfirmed.map(({ part }) => part),
      compared: this.#compared,
      failure: null,
    }
  }

  async #readAll(): Promise<{ reads: readonly FullRead[]; failures: readonly FailedRead[] }> {
    const reads: FullRead[] = []
    const failures = this.#o.withState ? await this.#states.readAll() : []
    this.#compared += this.#states.rows
    for (const feed of feeds) {
      const read = await this.#readFully(feed, (page) => this.#repairPage(page))
      if (read.ok) {
        reads.push(read.value)
        this.#compared += read.value.compared
      } else failures.push({ read: feed, failure: read.failure })
    }
    return { reads, failures }
  }

  #readFully(feed: Feed, onPage: (page: Records) => Promise<void>): Promise<Attempt<FullRead>> {
    const { client, clock } = this.#o
    const first = feed === 'events' ? this.#candidate.firstEvents : this.#candidate.firstThread
    return attemptFeed(clock, client, this.#signal, (retrying) => reReadFeed(retrying, this.#place, feed, first, onPage, this.#signal))
  }

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
    // After a repair of state, compares the records again, because the repair may have removed differences.
    await this.#repairRecords(records, stateDiffers && records.length > 0 ? await this.#repairer.compare(records) : comparison.records)
    await this.#confirmPending()
  }

  async #repairRecords(records: Records, differences: Differences): Promise<void> {
    const { observations, differ } = this.#pending.hold(records, differences)
    if (differ && observations.length > 0) await this.#repairer.repair(observations, null)
  }

  async #confirmPending(): Promise<void> {
    for (const feed of feeds) {
      if (!this.#pending.has(feed)) continue
      const again = await this.#o.slots.add(() => this.#readFully(feed, (page) => this.#confirmPage(page)))
      if (again.ok) {
        this.#secondReads.set(feed, again.value)
        await this.#confirmPage(again.value.observations ?? [])
        await this.#discardPending(feed, 'two full re-reads disagree on it')
      } else {
        await this.#reportFailedRead({ read: feed, failure: again.failure })
        await this.#discardPending(feed, 'it differs, and could not be read a second time')
      }
    }
  }

  async #confirmPage(page: Records): Promise<void> {
    const waiting = this.#pending.filter(page)
    if (waiting.length === 0) return
    const observations = this.#pending.confirm(waiting, await this.#repairer.compare(waiting))
    if (observations.length > 0) await this.#repairer.repair(observations, null)
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
   * Reads a state a second time, then repairs the remaining differences. The service may have changed the state since
   * the first read. If a newer read was applied first, repeats both steps, up to `MAX_STATE_READS` times in total.
   */
  async #repairState(state: StateObservation): Promise<void> {
    const { read } = state
    for (let attempts = 1; attempts <= MAX_STATE_READS; attempts += 1) {
      const again = await this.#states.readAgain(state)
      if (!again.ok) return await this.#reportFailedRead({ read, failure: again.failure })
      if (await this.#repairer.repair([again.value], read)) return
    }
    const reason = 'in every attempt, another read was applied first'
    await this.#reportFailedRead({ read, failure: { class: 'overtaken', reason, attempts: MAX_STATE_READS } })
  }

  async #markAbsent(reader: MirrorReader, fullRead: FullRead, begunAt: TimeText): Promise<void> {
    const { db, account } = this.#o
    const { submissionId } = this.#place
    const { feed } = fullRead
    const { unmarked, marked } = await findAbsent(db, reader, account, submissionId, fullRead, begunAt)
    if (marked.length > 0) await this.#repairer.report(knownAbsences(submissionId, feed, marked))
    if (unmarked.length === 0) return
    const again = await this.#secondRead(feed)
    if (!again.ok) return await this.#reportFailedRead({ read: feed, failure: again.failure })
    const absent = stillAbsent(unmarked, again.value.shown)
    for (let from = 0; from < absent.length; from += MARK_BATCH) await this.#markBatch(feed, absent.slice(from, from + MARK_BATCH))
  }

  async #secondRead(feed: Feed): Promise<Attempt<FullRead>> {
    const value = this.#secondReads.get(feed)
    return value ? { ok: true, value } : await this.#o.slots.add(() => this.#readFully(feed, async () => {}))
  }

  async #markBatch(feed: Feed, absent: readonly StoredRecord[]): Promise<void> {
    const ids = absent.filter(({ position }) => position === null).map(({ id }) => id)
    const attachments = absent.flatMap(({ id, position }) => (position === null ? [] : [{ messageId: id, position }]))
    const goneAt = timeFromMs(this.#o.clock.now())
    const records = feed === 'events' ? { events: ids, messages: [] } : { events: [], messages: ids }
    const observation: Observation = { kind: 'absent', ...this.#place, cause: 'reconcile', ...records, attachments, goneAt }
    await this.#repairer.repair([observation], null)
  }

  async #repairDerived(isThere: boolean, records: Records = []): Promise<void> {
    const insuredIds = insuredsIn([...this.#states.all, ...records])
    const observations = derivedObservations(this.#place, timeFromMs(this.#o.clock.now()), isThere, insuredIds)
    if (differs(await this.#repairer.compare(observations))) await this.#repairer.repair(observations, null)
  }

  /**
   * Reports a submission id that isn't a lower-case UUID. The service isn't asked: for an upper-case id, the service
   * would answer for the submission with the lower-case id.
   */
  async #reportMisnamed(): Promise<CheckResult> {
    const { db, account, runId } = this.#o
    const { submissionId } = this.#place
    const about = { submissionId, entity: 'submissions', entityId: JSON.stringify([submissionId]) }
    const known = await isMisnamedReported(db.read, account, submissionId, runId)
    const detail = 'its id is not a lower-case UUID, so it did not come from the service; delete its rows manually'
    await this.#repairer.report([finding({ ...about, kind: 'absent', known, detail })])
    return { isReconciled: false, unconfirmed: [], compared: 0, failure: null }
  }

  async #reportGone({ read, failure }: FailedRead): Promise<CheckResult> {
    await this.#finishPages(false)
    const { submissionId, unreachableSince } = this.#candidate
    if (unreachableSince !== null) {
      const detail = `the service does not know it (404); marked as unreachable since ${unreachableSince}`
      const about = { submissionId, entity: 'submissions', entityId: JSON.stringify([submissionId]), read }
      await this.#repairer.report([finding({ ...about, kind: 'absent', known: true, detail })])
    } else await this.#reportFailedRead({ read, failure })
    return { isReconciled: false, unconfirmed: [], compared: this.#compared, failure }
  }

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

interface Unconfirmed {
  readonly part: ViewPart
  readonly finding: NewFinding
}

async function findUnconfirmed(
  reader: MirrorReader,
  { account, submissionId }: SubmissionRef,
  states: readonly StateObservation[],
): Promise<Unconfirmed[]> {
  const view = states.find(({ read }) => read === 'requirements')?.view
  if (view === undefined) return []
  const shown = partsShown(view)
  const found: Unconfirmed[] = []
  for (const part of Object.keys(viewParts) as ViewPart[]) {
    const tables = viewParts[part]
    const entity = entityNamed(tables[0])
    if (shown.includes(part) || entity === null) continue
    const rows = await reader.loadOfSubmission(entity, account, submissionId)
    if (!rows.some((row) => isConfirmable(entity.table, row))) continue
    const [stored] = await reader.loadOfSubmission(submissions, account, submissionId)
    const lastRead = stored?.[`${part}_read_at`] ?? 'never'
    const detail = `the answer had no ${part.replaceAll('_', ' ')}, so nothing confirms ${tables.join(', ')}; last read: ${lastRead}`
    const about = { submissionId, entity: entity.table, read: 'requirements', known: true } as const
    found.push({ part, finding: finding({ ...about, kind: 'unreadable', detail }) })
  }
  return found
}

/**
 * True if a complete requirements view must show this row. False for rows marked as gone, and for lanes known only from
 * events.
 */
function isConfirmable(table: string, row: Row): boolean {
  return !hasValue(row['gone_at']) && (table !== lanes.table || isOfRail(row as LaneRow))
}
