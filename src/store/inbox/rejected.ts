import { type Selectable, sql } from 'kysely'
import { addressKey } from '../../base/client-address.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import type { RejectedTable } from '../schema/inbox.ts'

export interface Rejected {
  /** null if the path names no account. */
  readonly account: string | null
  readonly path: string
  readonly receivedAt: TimeText
  readonly address: string
  readonly reason: string
  readonly headers: Readonly<Record<string, string>>
  /** null if it was rejected before its body was read. */
  readonly body: Buffer | null
}

export type RejectedRecord = NonNullable<Awaited<ReturnType<RejectedStore['get']>>>

export interface ListRejectedOptions {
  readonly account?: string | undefined
  readonly reason?: string | undefined
  /** Only deliveries not accepted later. */
  readonly isOpen?: boolean | undefined
  /** Only deliveries with a smaller number. */
  readonly after?: number | undefined
  /** Received at or after this time. */
  readonly since?: TimeText | undefined
  /** Received before this time. */
  readonly until?: TimeText | undefined
  /** Default: all. */
  readonly limit?: number
}

const MAX_BODY_BYTES = 1024 * 1024
/** Lists read bodies up to this many bytes. */
const SHORT_BODY_BYTES = 16 * 1024
/** Limits of the table and of the write queue, in units (see `unitsOf`). */
const MAX_UNITS = 1_000
const MAX_WAITING_UNITS = 256
const MAX_PATH_LENGTH = 256

interface Waiting extends Kept {
  readonly rejected: Rejected
}

/** Header with the original body length. A value greater than the stored length means that the body was cut. */
const LENGTH_HEADER = 'content-length'

/**
 * Stores rejected deliveries, so that they can be verified again after fixing a secret. Each sender has its own limit (`MinuteShares`). If
 * the table or queue is full, the largest sender's oldest deliveries are removed (`toRemove`).
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

  /** Deliveries dropped because of limits or write failures. */
  get passedOver(): number {
    return this.#passedOver
  }

  /** Queues a rejected delivery for storing. The first 1 MiB of its body is copied. @returns whether the limits allow storing it. */
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

  /** Resolves when the queue is written. */
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

  /** Counts and newest time by reason, most frequent reason first. */
  async countByReason(account: string | undefined): Promise<{ reason: string; count: number; newest_at: TimeText }[]> {
    let query = this.#db.read.sql
      .selectFrom('sync_rejected')
      .select(['reason', sql<number>`count(*)`.as('count'), sql<TimeText>`max(received_at)`.as('newest_at')])
      .groupBy('reason')
    if (account !== undefined) query = query.where('account', '=', account)
    return await query.orderBy('count', 'desc').orderBy('reason').execute()
  }

  /** Stored bodies by id, up to `SHORT_BODY_BYTES`. */
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

  /** @returns null if the id doesn't exist. */
  async get(id: number) {
    const row = await this.#db.read.sql.selectFrom('sync_rejected').selectAll().where('rejected_id', '=', id).executeTakeFirst()
    return row ? { ...summaryOf({ ...row, kept_bytes: row.body?.length ?? null }), body: row.body } : null
  }

  /** @returns a stored body as it was received, unless tax ids were dropped from it. */
  original(body: Buffer, { account, received_at: receivedAt }: Pick<RejectedRecord, 'account' | 'received_at'>): Buffer {
    return this.#db.protection.revealBytes(body, rejectedPlace({ account, receivedAt }))
  }

  /** Records that a rejected delivery was verified later and is in the inbox. */
  async markFullyRead(id: number): Promise<void> {
    const replayedAt = timeFromMs(this.#db.clock.now())
    await this.#db.write('rejected-replayed', (tx) =>
      tx.sql.updateTable('sync_rejected').set({ replayed_at: replayedAt }).where('rejected_id', '=', id).execute(),
    )
  }

  /**
   * @returns the part to store, with tax ids dropped or encrypted (see `original`). Copies the body, so that the queue doesn't keep whole
   * requests in memory.
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
    // No await since the last queue check, so the next delivery starts a new run.
    this.#writing = null
  }
}

async function insertAndPrune(tx: Tx, batch: readonly Waiting[]): Promise<void> {
  for (const { rejected } of batch) {
    const { account, path, receivedAt, address, reason, headers, body } = rejected
    await tx.run(sql`
      insert into sync_rejected (account, path, received_at, address, reason, headers, body, replayed_at) values (${account}, ${path},
      ${receivedAt}, ${address}, ${reason}, ${JSON.stringify(headers)}, ${body}, null)`)
  }
  const kept = await tx.sql
    .selectFrom('sync_rejected')
    .select(['rejected_id', 'address', sql<number | null>`length(body)`.as('bodyBytes')])
    .orderBy('rejected_id')
    .execute()
  const ids = toRemove(kept, MAX_UNITS).map(({ rejected_id }) => rejected_id)
  if (ids.length > 0) await tx.sql.deleteFrom('sync_rejected').where('rejected_id', 'in', ids).execute()
}

/** Keyed by time: numbers exist only after storing. */
export function rejectedPlace({ account, receivedAt }: Pick<Rejected, 'account' | 'receivedAt'>) {
  return { account: account ?? '', table: 'sync_rejected', key: JSON.stringify([receivedAt]), column: 'body' }
}

type SummaryRow = Omit<Selectable<RejectedTable>, 'body'> & { readonly kept_bytes: number | null }

/** `body_cut`: the body was longer than the stored part, so it cannot be verified again. */
function summaryOf({ kept_bytes, ...row }: SummaryRow) {
  const headers = JSON.parse(row.headers) as Record<string, string>
  /** null if unread. */
  const body_bytes = kept_bytes === null ? null : Number(headers[LENGTH_HEADER])
  return { ...row, headers, body_bytes, body_cut: body_bytes !== null && body_bytes > (kept_bytes ?? 0) }
}

/** A delivery takes one unit, plus one for each full `UNIT_BYTES` of body. */
const UNIT_BYTES = 32 << 10
const MINUTE_MS = 60_000
/** Units that one sender may store in a minute: 60 small deliveries, or one with a body of 1 MiB and some small ones. */
const SENDER_PER_MINUTE = 60
/** Units that all senders share in a minute. */
const ALL_PER_MINUTE = 600
const MAX_SENDERS = 10_000
/** IPv6 groups per site (/48), because a host can use all 65,536 networks of its site. */
const SITE_GROUPS = 3

/** Fields of a rejected delivery for the limits. */
interface Kept {
  readonly address: string
  /** null if the body was not read. */
  readonly bodyBytes: number | null
}

function unitsOf({ bodyBytes }: Kept): number {
  return 1 + Math.floor((bodyBytes ?? 0) / UNIT_BYTES)
}

/** Selects deliveries to remove until the rest fits, always the largest sender's oldest delivery. @param kept oldest first. */
function toRemove<K extends Kept>(kept: readonly K[], maxUnits: number): K[] {
  let total = kept.reduce((sum, each) => sum + unitsOf(each), 0)
  if (total <= maxUnits) return []
  const senders = Map.groupBy(kept, ({ address }) => addressKey(address, SITE_GROUPS))
  const units = new Map([...senders].map(([sender, own]) => [sender, own.reduce((sum, each) => sum + unitsOf(each), 0)]))
  const removed: K[] = []
  while (total > maxUnits) {
    const [heaviest] = [...units].reduce((most, each) => (each[1] > most[1] ? each : most))
    const oldest = senders.get(heaviest)?.shift()
    if (oldest === undefined) break
    removed.push(oldest)
    total -= unitsOf(oldest)
    units.set(heaviest, (units.get(heaviest) ?? 0) - unitsOf(oldest))
  }
  return removed
}

/**
 * Limits storage per minute. The minute's senders share its units equally, so no sender can use another's share. Each sender may store at
 * least one small delivery.
 */
class MinuteShares {
  #beganAt = Number.NEGATIVE_INFINITY
  #units = new Map<string, number>()

  /** Takes a delivery's units from its sender's share. @returns false, and takes nothing, if too few remain. */
  take(rejected: Kept, now: number): boolean {
    if (now - this.#beganAt >= MINUTE_MS || now < this.#beganAt) {
      this.#beganAt = now
      this.#units = new Map()
    }
    const sender = addressKey(rejected.address, SITE_GROUPS)
    const used = this.#units.get(sender) ?? 0
    if (used === 0 && this.#units.size >= MAX_SENDERS) return false
    const senders = this.#units.size + (used === 0 ? 1 : 0)
    const share = Math.max(1, Math.min(SENDER_PER_MINUTE, Math.floor(ALL_PER_MINUTE / senders)))
    if (used + unitsOf(rejected) > share) return false
    this.#units.set(sender, used + unitsOf(rejected))
    return true
  }
}
