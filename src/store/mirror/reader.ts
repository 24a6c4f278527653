import { sql } from 'kysely'
import { type MarketEventRow, marketEvents } from '../../model/entities/market-events.ts'
import { type ThreadMessageRow, threadMessages } from '../../model/entities/thread-messages.ts'
import { entities } from '../../model/entities.ts'
import type { Entity, Row } from '../../model/entity.ts'
import type { Protection } from '../../model/protection/protection.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { documentIdsOf, documentIdsOfAll } from '../reads/known-ids.ts'
import type { MirrorReading, Newest } from './access.ts'
import { sharersOf } from './shared-documents.ts'

/** Rows of one submission, by table name. */
type Whole = ReadonlyMap<string, readonly Row[]>

/**
 * Reads an account's rows of the mirror, to compare the rows with the service.
 * Preloads small submissions in batches. Reads rows of large submissions when needed. Doesn't refresh preloaded rows.
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

  /** Preloads all rows of these submissions, except submissions with more than `limitEach` rows in one table. */
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

  /** @returns the rows of `entity` in a preloaded submission; null if the submission isn't preloaded. */
  preloaded(entity: Entity, submissionId: string): readonly Row[] | null {
    const whole = this.#whole.get(submissionId)
    return whole === undefined ? null : (whole.get(entity.table) ?? [])
  }

  /** @returns the rows with these keys; the result may include other rows. @param keys keys of one submission. */
  async load(entity: Entity, keys: readonly Row[]): Promise<readonly Row[]> {
    const whole = this.preloaded(entity, String(keys[0]?.['submission_id']))
    return whole ?? (await this.#q.selectMany(entity, keys))
  }

  async loadOfSubmission(entity: Entity, account: string, submissionId: string): Promise<readonly Row[]> {
    const whole = this.preloaded(entity, submissionId)
    return whole ?? (await this.#q.selectWhere(entity, { account, submission_id: submissionId }))
  }

  /** Ids of documents that the service named for a submission. */
  async documentIds(account: string, submissionId: string): Promise<readonly string[]> {
    return this.#documentIds.get(submissionId) ?? (await documentIdsOf(this.#q, account, submissionId))
  }

  sharersOf(account: string, documentKey: string): Promise<readonly string[]> {
    return sharersOf(this.#q, account, documentKey)
  }

  /** Document ids of a preloaded submission; empty if the submission isn't preloaded. */
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

/**
 * Computes `Newest` of a submission from rows.
 * @param events all events of the submission.
 * @param messages all messages of the submission.
 */
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

/** Reads `Newest` of a submission from the tables. */
export async function newestOf(q: Query, account: string, submissionId: string): Promise<Newest> {
  const isShown = sql`account = ${account} and submission_id = ${submissionId} and gone_at is null`
  const newest = (table: 'market_events' | 'thread_messages') =>
    q.one(sql<{ at: TimeText | null }>`
      select occurred_at as at from ${sql.table(table)} where ${isShown} order by occurred_at desc limit 1`)
  const eventAt = (await newest('market_events'))?.at ?? null
  const messageAt = (await newest('thread_messages'))?.at ?? null
  const rows = await q.all(sql<{ event_id: string }>`
    select event_id from (
      select event_id, row_number() over (partition by lane_id order by occurred_at desc, event_id desc) as place
      from market_events where ${isShown} and lane_id is not null) ranked
    where place = 1 order by event_id`)
  return { eventAt, messageAt, laneEvents: rows.map((row) => row.event_id) }
}
