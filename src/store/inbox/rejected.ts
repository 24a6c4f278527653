import { type Selectable, sql } from 'kysely'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import type { RejectedTable } from '../schema/inbox.ts'
import { type Kept, MinuteShares, toRemove } from './rejected-limits.ts'

/** A rejected delivery. */
export interface Rejected {
  /** null when its path named no account. */
  readonly account: string | null
  readonly path: string
  readonly receivedAt: TimeText
  readonly address: string
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>
  /** null when it was rejected before its body was read. */
  readonly body: Buffer | null
}

export type RejectedRecord = NonNullable<Awaited<ReturnType<RejectedStore['get']>>>

export interface ListRejectedOptions {
  readonly account?: string | undefined
  readonly reason?: string | undefined
  /** Only those that were not accepted later. */
  readonly isOpen?: boolean | undefined
  /** Only those behind the one with this number: older ones. */
  readonly after?: number | undefined
  /** Received at or after this time. */
  readonly since?: TimeText | undefined
  /** Received before this time. */
  readonly until?: TimeText | undefined
  /** All of them when left out. */
  readonly limit?: number
}

const MAX_BODY_BYTES = 1024 * 1024
/** Bodies up to this length are read for a list. */
const SHORT_BODY_BYTES = 16 * 1024
/** Bounds of the table, and of the queue while the database is slow or unreachable; see `unitsOf`. */
const MAX_UNITS = 1_000
const MAX_WAITING_UNITS = 256
const MAX_PATH_LENGTH = 256

interface Waiting extends Kept {
  readonly rejected: Rejected
}

/** Header that stores the original body length. A greater value than the stored length means that the body was cut. */
const LENGTH_HEADER = 'content-length'

/**
 * Stores rejected deliveries, so that they can be verified again after a secret was corrected. Each sender has a limit of its own
 * (`MinuteShares`). When the table or the queue is full, the sender with the most loses its oldest (`toRemove`).
 */
export class RejectedStore {
  readonly #db: Db
  readonly #log: Log
  #waiting: Waiting[] = []
  readonly #shares = new MinuteShares()
  #writing: Promise<void> | null = null
  #passedOver = 0

  constructor(db: Db, log: Log) {
    this.#db = db
    this.#log = log
  }

  /** How many were dropped, because there were too many or the database was unreachable. */
  get passedOver(): number {
    return this.#passedOver
  }

  /**
   * Queues a rejected delivery to be stored; nobody waits for it. The first 1 MiB of its body is copied and stored.
   * @returns whether the limits allow storing it.
   */
  keep(rejected: Rejected): boolean {
    const { address } = rejected
    const bodyBytes = rejected.body && Math.min(rejected.body.length, MAX_BODY_BYTES)
    if (!this.#shares.take({ address, bodyBytes }, this.#db.clock.now())) {
      this.#passedOver += 1
      return false
    }
    const waiting = { address, bodyBytes, rejected: this.#shortened(rejected) }
    const all = [...this.#waiting, waiting]
    const removed = toRemove(all, MAX_WAITING_UNITS)
    this.#waiting = all.filter((each) => !removed.includes(each))
    this.#passedOver += removed.length
    this.#writing ??= this.#writeAll()
    return !removed.includes(waiting)
  }

  /** Resolves when nothing waits to be written. */
  async settled(): Promise<void> {
    await this.#writing
  }

  /** The newest first. */
  async list(options: ListRejectedOptions) {
    let query = this.#db.read.sql
      .selectFrom('sync_rejected')
      .select(['rejected_id', 'account', 'path', 'received_at', 'address', 'reason', 'headers', 'replayed_at'])
      .select(sql<number | null>`length(body)`.as('kept_bytes'))
      .orderBy('rejected_id', 'desc')
    const { account, reason, isOpen, after, since, until, limit } = options
    if (account !== undefined) query = query.where('account', '=', account)
    if (reason !== undefined) query = query.where('reason', '=', reason)
    if (isOpen) query = query.where('replayed_at', 'is', null)
    if (after !== undefined) query = query.where('rejected_id', '<', after)
    if (since !== undefined) query = query.where('received_at', '>=', timeValue(this.#db.read, since))
    if (until !== undefined) query = query.where('received_at', '<', timeValue(this.#db.read, until))
    if (limit !== undefined) query = query.limit(limit)
    return (await query.execute()).map(summaryOf)
  }

  /** How many are kept by reason, the most frequent first, and when the newest came. */
  async countByReason(account: string | undefined): Promise<{ reason: string; count: number; newest_at: TimeText }[]> {
    let query = this.#db.read.sql
      .selectFrom('sync_rejected')
      .select(['reason', sql<number>`count(*)`.as('count'), sql<TimeText>`max(received_at)`.as('newest_at')])
      .groupBy('reason')
    if (account !== undefined) query = query.where('account', '=', account)
    return await query.orderBy('count', 'desc').orderBy('reason').execute()
  }

  /** The bodies of those with these ids by their ids, as they are kept; long ones and those that were not read are left out. */
  async shortBodies(ids: readonly number[]): Promise<ReadonlyMap<number, Buffer>> {
    if (ids.length === 0) return new Map()
    const rows = await this.#db.read.sql
      .selectFrom('sync_rejected')
      .select(['rejected_id', 'body'])
      .where('rejected_id', 'in', ids)
      .where(sql<number>`length(body)`, '<=', SHORT_BODY_BYTES)
      .execute()
    return new Map(rows.flatMap(({ rejected_id, body }) => (body === null ? [] : [[rejected_id, body] as const])))
  }

  /** @returns null when there is none with that id, or no longer. */
  async get(id: number) {
    const row = await this.#db.read.sql.selectFrom('sync_rejected').selectAll().where('rejected_id', '=', id).executeTakeFirst()
    return row ? { ...summaryOf({ ...row, kept_bytes: row.body?.length ?? null }), body: row.body } : null
  }

  /** @returns a stored body as it was received, unless tax ids were dropped from it. */
  original(body: Buffer, { account, received_at: receivedAt }: Pick<RejectedRecord, 'account' | 'received_at'>): Buffer {
    return this.#db.protection.revealBytes(body, rejectedPlace({ account, receivedAt }))
  }

  /** Records that a rejected delivery was verified after all and is in the inbox. */
  async markReplayed(id: number): Promise<void> {
    const replayedAt = timeFromMs(this.#db.clock.now())
    await this.#db.write('rejected-replayed', (tx) =>
      tx.sql.updateTable('sync_rejected').set({ replayed_at: replayedAt }).where('rejected_id', '=', id).execute(),
    )
  }

  /**
   * @returns the part to store, without tax ids: a copy, so that a queued delivery does not hold the whole request in memory. `original`
   * restores encrypted ones.
   */
  #shortened(rejected: Rejected): Rejected {
    const { body: given, headers } = rejected
    const path = rejected.path.slice(0, MAX_PATH_LENGTH)
    if (given === null) return { ...rejected, path }
    const body = this.#db.protection.bytes(Buffer.from(given.subarray(0, MAX_BODY_BYTES)), rejectedPlace(rejected))
    const length = given.length > MAX_BODY_BYTES ? Math.max(given.length, body.length + 1) : body.length
    return { ...rejected, path, headers: { ...headers, [LENGTH_HEADER]: String(length) }, body }
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      try {
        await this.#db.write('rejected-keep', (tx) => insertAndPrune(tx, batch))
      } catch (error) {
        this.#passedOver += batch.length
        this.#log.warn({ deliveries: batch.length }, `rejected deliveries could not be stored: ${messageOf(error)}`)
      }
    }
    // Synchronous with the last check of the queue, so the next delivery starts a new run.
    this.#writing = null
  }
}

async function insertAndPrune(tx: Tx, batch: readonly Waiting[]): Promise<void> {
  for (const { rejected } of batch) {
    const { account, path, receivedAt, address, reason, headers, body } = rejected
    await tx.sql
      .insertInto('sync_rejected')
      .values({
        account,
        path,
        received_at: receivedAt,
        address,
        reason,
        headers: JSON.stringify(headers),
        body,
        replayed_at: null,
      })
      .execute()
  }
  const kept = await tx.sql
    .selectFrom('sync_rejected')
    .select(['rejected_id', 'address', sql<number | null>`length(body)`.as('bodyBytes')])
    .orderBy('rejected_id')
    .execute()
  const ids = toRemove(kept, MAX_UNITS).map(({ rejected_id }) => rejected_id)
  if (ids.length > 0) await tx.sql.deleteFrom('sync_rejected').where('rejected_id', 'in', ids).execute()
}

/** A rejected delivery has no number before it is stored. */
export function rejectedPlace({ account, receivedAt }: Pick<Rejected, 'account' | 'receivedAt'>) {
  return { account: account ?? '', table: 'sync_rejected', key: JSON.stringify([receivedAt]), column: 'body' }
}

type SummaryRow = Omit<Selectable<RejectedTable>, 'body'> & { readonly kept_bytes: number | null }

/** A stored rejected delivery. `body_cut`: its body was longer than what is stored, so it cannot be verified again. */
function summaryOf({ kept_bytes, ...row }: SummaryRow) {
  const headers = JSON.parse(row.headers) as Record<string, string>
  /** null when it was not read. */
  const body_bytes = kept_bytes === null ? null : Number(headers[LENGTH_HEADER])
  return { ...row, headers, body_bytes, body_cut: body_bytes !== null && body_bytes > (kept_bytes ?? 0) }
}
