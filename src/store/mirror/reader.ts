import { type MarketEventRow, marketEvents } from '../../model/entities/market-events.ts'
import { type ThreadMessageRow, threadMessages } from '../../model/entities/thread-messages.ts'
import { entities } from '../../model/entities.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { documentIdsOf, documentIdsOfAll } from '../reads/document-ids.ts'
import type { MirrorReading, Newest } from './access.ts'
import { newestOf } from './newest.ts'
import { sharersOf } from './shared-documents.ts'

/** The rows of one submission, by table. */
type Whole = ReadonlyMap<string, readonly Row[]>

/**
 * Reads the mirror for comparison. Small submissions are read whole, many at once; of large ones single rows are read on demand. What was read
 * whole is as old as the reader.
 */
export class MirrorReader implements MirrorReading {
  readonly #q: Query
  readonly #account: string
  readonly #whole = new Map<string, Whole>()
  readonly #documentIds = new Map<string, string[]>()

  constructor(q: Query, account: string) {
    this.#q = q
    this.#account = account
  }

  get protection(): Protection {
    return this.#q.protection
  }

  get listsDocuments(): boolean {
    return this.#q.listsDocuments
  }

  /** Reads whole submissions, except those with more than `limitEach` rows in one table. */
  async preload(submissionIds: readonly string[], limitEach: number): Promise<void> {
    const found = new Map(submissionIds.map((id) => [id, new Map<string, Row[]>()]))
    const large = new Set<string>()
    for (const entity of entities) {
      const rows = await this.#q.selectOfSubmissions(entity, this.#account, submissionIds, limitEach + 1)
      for (const [id, own] of Map.groupBy(rows, (row) => String(row['submission_id']))) {
        found.get(id)?.set(entity.table, own)
        if (own.length > limitEach) large.add(id)
      }
    }
    const ids = await documentIdsOfAll(this.#q, this.#account, submissionIds)
    for (const [id, tables] of found) {
      if (large.has(id)) continue
      this.#whole.set(id, tables)
      this.#documentIds.set(id, ids.get(id) ?? [])
    }
  }

  /** The rows of `entity` of a submission that was read whole; otherwise null. */
  preloaded(entity: Entity, submissionId: string): readonly Row[] | null {
    const whole = this.#whole.get(submissionId)
    return whole === undefined ? null : (whole.get(entity.table) ?? [])
  }

  /** The rows of `keys`, and possibly others. @param keys of one submission. */
  async load(entity: Entity, keys: readonly Row[]): Promise<readonly Row[]> {
    const whole = this.preloaded(entity, String(keys[0]?.['submission_id']))
    return whole ?? (await this.#q.selectMany(entity, keys))
  }

  async loadOfSubmission(entity: Entity, account: string, submissionId: string): Promise<readonly Row[]> {
    const whole = this.preloaded(entity, submissionId)
    return whole ?? (await this.#q.selectWhere(entity, { account, submission_id: submissionId }))
  }

  /** @returns the documents that were named for a submission. */
  async documentIds(account: string, submissionId: string): Promise<readonly string[]> {
    return this.#documentIds.get(submissionId) ?? (await documentIdsOf(this.#q, account, submissionId))
  }

  sharersOf(account: string, documentKey: string): Promise<readonly string[]> {
    return sharersOf(this.#q, account, documentKey)
  }

  /** `documentIds` of a submission that was read whole. */
  preloadedDocumentIds(submissionId: string): readonly string[] {
    return this.#documentIds.get(submissionId) ?? []
  }

  async newest(account: string, submissionId: string): Promise<Newest> {
    const events = this.preloaded(marketEvents, submissionId)
    const messages = this.preloaded(threadMessages, submissionId)
    if (events === null || messages === null) return newestOf(this.#q, account, submissionId)
    return newestAmong(events as readonly MarketEventRow[], messages as readonly ThreadMessageRow[])
  }
}

/** Summary of a submission's records that are not gone. @param events all of them. */
export function newestAmong(events: readonly MarketEventRow[], messages: readonly ThreadMessageRow[]): Newest {
  const present = events.filter(isPresent)
  const lanes = new Map<string, MarketEventRow>()
  for (const event of present) {
    if (event.lane_id === null) continue
    const other = lanes.get(event.lane_id)
    if (other === undefined || orderOf(event) > orderOf(other)) lanes.set(event.lane_id, event)
  }
  return {
    eventAt: latest(present),
    messageAt: latest(messages.filter(isPresent)),
    laneEvents: [...lanes.values()].map((event) => event.event_id),
  }
}

function isPresent({ gone_at }: { readonly gone_at: TimeText | null }): boolean {
  return gone_at === null
}

function orderOf(event: MarketEventRow): string {
  return `${event.occurred_at} ${event.event_id}`
}

function latest(rows: readonly { readonly occurred_at: string | null }[]): string | null {
  let latest: string | null = null
  for (const { occurred_at } of rows) if (occurred_at !== null && (latest === null || occurred_at > latest)) latest = occurred_at
  return latest
}
