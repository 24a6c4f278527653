import type { Change } from '../model/change.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import { submissions } from '../model/entities/submissions.ts'
import { type ThreadMessageRow, threadMessages } from '../model/entities/thread-messages.ts'
import type { Entity, Row } from '../model/entity.ts'
import type { Observation, SubmissionRef } from '../model/observations.ts'
import type { Protection } from '../model/protection/protection.ts'
import { keyText } from '../model/row-key.ts'
import type { TimeText } from '../model/time.ts'
import type { MirrorAccess, MirrorReading, Newest } from '../store/mirror/access.ts'
import { newestAmong } from '../store/mirror/reader.ts'
import { applyTo } from './apply-to.ts'
import { ApplySession } from './session.ts'

/** What applying observations would change. */
export interface Differences {
  readonly changed: readonly Change[]
  /** Rows in which `raw` would change, but no column that the change log records. */
  readonly rawOnly: readonly Change[]
}

export function differs(differences: Differences): boolean {
  return differences.changed.length + differences.rawOnly.length > 0
}

/**
 * Finds what applying one submission's observations would change. Uses the same code as applying, so that findings and
 * repairs agree. Writes, locks, and counts nothing.
 */
export async function compareObservations(
  reader: MirrorReading,
  observations: readonly Observation[],
  now: TimeText,
): Promise<Differences> {
  const { changed, rawOnly } = await compared(reader, observations, now)
  return { changed, rawOnly }
}

async function compared(reader: MirrorReading, observations: readonly Observation[], now: TimeText) {
  const access = new Comparison(reader)
  const session = new ApplySession(access, now)
  await applyTo(session, observations)
  await session.flush()
  return { changed: access.changed, rawOnly: session.rawOnly, written: access.written }
}

/** Applies observations in memory only. The resulting rows equal those that applying would write to the mirror. */
export class DryRun {
  readonly #overlay: Overlay

  constructor(reader: MirrorReading) {
    this.#overlay = new Overlay(reader)
  }

  /** @returns what applying observations would change, without applying them. */
  compare(observations: readonly Observation[], now: TimeText): Promise<Differences> {
    return compareObservations(this.#overlay, observations, now)
  }

  async apply(observations: readonly Observation[], now: TimeText): Promise<Differences> {
    const { changed, rawOnly, written } = await compared(this.#overlay, observations, now)
    for (const { entity, row } of written) this.#overlay.put(entity, row)
    return { changed, rawOnly }
  }
}

class Reading implements MirrorReading {
  readonly #reader: MirrorReading

  constructor(reader: MirrorReading) {
    this.#reader = reader
  }

  get protection(): Protection {
    return this.#reader.protection
  }

  get listsDocuments(): boolean {
    return this.#reader.listsDocuments
  }

  load(entity: Entity, keys: readonly Row[]): Promise<readonly Row[]> {
    return this.#reader.load(entity, keys)
  }

  loadOfSubmission(entity: Entity, account: string, submissionId: string): Promise<readonly Row[]> {
    return this.#reader.loadOfSubmission(entity, account, submissionId)
  }

  newest(account: string, submissionId: string): Promise<Newest> {
    return this.#reader.newest(account, submissionId)
  }

  documentIds(account: string, submissionId: string): Promise<readonly string[]> {
    return this.#reader.documentIds(account, submissionId)
  }

  sharersOf(account: string, documentKey: string): Promise<readonly string[]> {
    return this.#reader.sharersOf(account, documentKey)
  }
}

/** Reads the mirror. Returns rows changed in memory instead of their stored versions. */
class Overlay extends Reading {
  readonly #rows = new Map<string, Map<string, Row>>()

  put(entity: Entity, row: Row): void {
    const rows = this.#rows.get(entity.table) ?? new Map<string, Row>()
    rows.set(keyText(entity, row), row)
    this.#rows.set(entity.table, rows)
  }

  /**
   * Returns only the rows of `keys`, not all rows changed in memory. Otherwise, each page of a long feed would also
   * return the rows of all earlier pages.
   */
  override async load(entity: Entity, keys: readonly Row[]): Promise<readonly Row[]> {
    const rows = await super.load(entity, keys)
    const over = this.#rows.get(entity.table)
    if (over === undefined) return rows
    const asked = keys.map((key) => over.get(keyText(entity, key))).filter((row) => row !== undefined)
    return [...uncovered(entity, rows, over), ...asked]
  }

  /**
   * Adds all rows of the table that changed in memory. All of them belong to this submission, because a dry run
   * handles one submission only.
   */
  override async loadOfSubmission(entity: Entity, account: string, submissionId: string): Promise<readonly Row[]> {
    const rows = await super.loadOfSubmission(entity, account, submissionId)
    const over = this.#rows.get(entity.table)
    return over === undefined ? rows : [...uncovered(entity, rows, over), ...over.values()]
  }

  override async newest(account: string, submissionId: string): Promise<Newest> {
    if (!this.#rows.has(marketEvents.table) && !this.#rows.has(threadMessages.table)) return super.newest(account, submissionId)
    const events = await this.loadOfSubmission(marketEvents, account, submissionId)
    const messages = await this.loadOfSubmission(threadMessages, account, submissionId)
    return newestAmong(events as readonly MarketEventRow[], messages as readonly ThreadMessageRow[])
  }
}

function uncovered(entity: Entity, rows: readonly Row[], over: ReadonlyMap<string, Row>): readonly Row[] {
  return rows.filter((row) => !over.has(keyText(entity, row)))
}

/** Collects changes in memory instead of writing them. */
class Comparison extends Reading implements MirrorAccess {
  readonly changed: Change[] = []
  readonly written: { readonly entity: Entity; readonly row: Row }[] = []

  async insert(entity: Entity, rows: readonly Row[], changes: readonly Change[]): Promise<void> {
    this.#write(entity, rows, changes)
  }

  async update(entity: Entity, _columns: readonly string[], rows: readonly Row[], changes: readonly Change[]): Promise<void> {
    this.#write(entity, rows, changes)
  }

  async lockSubmissions(
    keys: readonly Row[],
    trackedAt: TimeText,
    via: (key: Row) => string,
  ): Promise<{ rows: readonly Row[]; added: readonly Row[] }> {
    const rows = await super.load(submissions, keys)
    if (rows.length > 0) return { rows, added: [] }
    const blank = Object.fromEntries(Object.keys(submissions.columns).map((column) => [column, null]))
    const added = keys.map((key) => ({ ...blank, ...key, tracked_at: trackedAt, tracked_via: via(key) }))
    return { rows: added, added: keys }
  }

  async purgedAmong(): Promise<ReadonlySet<string>> {
    return new Set()
  }

  async addReads(_places: readonly SubmissionRef[], _now: TimeText, _live: boolean): Promise<void> {}

  async takeApplied(): Promise<'new'> {
    return 'new'
  }

  #write(entity: Entity, rows: readonly Row[], changes: readonly Change[]): void {
    this.changed.push(...changes)
    for (const row of rows) this.written.push({ entity, row })
  }
}
