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
  /** null if the delivery was rejected before its body was read. */
  readonly body: Buffer | null
}

export type RejectedRecord = NonNullable<Awaited<ReturnType<RejectedStore['get']>>>

export interface ListRejectedOptions {
  readonly account?: string | undefined
  readonly reason?: string | undefined
  /** true: only deliveries that weren't accepted later. */
  readonly isOpen?: boolean | undefined
  /** Only deliveries with a smaller `rejected_id`. */
  readonly after?: number | undefined
  /** Received at or after this time. */
  readonly since?: TimeText | undefined
  /** Received before this time. */
  readonly until?: TimeText | undefined
  /** Default: no limit. */
  readonly limit?: number
}

const MAX_BODY_BYTES = 1024 * 1024
/** `shortBodies` returns only bodies up to this many bytes. */
const SHORT_BODY_BYTES = 16 * 1024
/** Maximum units (see `unitsOf`) in the table, and in the queue of waiting writes. */
const MAX_UNITS = 1_000
const MAX_WAITING_UNITS = 256
const MAX_PATH_LENGTH = 256

interface Waiting extends Kept {
  readonly rejected: Rejected
}

/** Header with the length of the original body. If the stored body is shorter, the body was cut. */
const LENGTH_HEADER = 'content-length'

/**
 * Stores rejected deliveries, so that the deliveries can be verified again after a webhook secret was fixed.
 * Each sender has a limit per minute (see `MinuteShares`).
 * If the table or the queue is full, the oldest deliveries of the largest sender are removed (see `toRemove`).
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

  /** Number of deliveries dropped because of limits or failed writes. */
  get passedOver(): number {
    return this.#passedOver
  }

  /**
   * Queues a rejected delivery for storing. Copies up to 1 MiB of its body.
   * @returns false if the limits don't allow storing the delivery.
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

  /** Resolves when each queued delivery was stored, or was dropped because the write failed. */
  async settled(): Promise<void> {
    await this.#writing
  }

  /** Lists rejected deliveries, newest first. */
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

  /**
   * Counts rejected deliveries by reason, most frequent first. `newest_at`: when the newest delivery with the reason
   * arrived.
   */
  async countByReason(account: string | undefined): Promise<{ reason: string; count: number; newest_at: TimeText }[]> {
    let query = this.#db.read.sql
      .selectFrom('sync_rejected')
      .select(['reason', sql<number>`count(*)`.as('count'), sql<TimeText>`max(received_at)`.as('newest_at')])
      .groupBy('reason')
    if (account !== undefined) query = query.where('account', '=', account)
    return await query.orderBy('count', 'desc').orderBy('reason').execute()
  }

  /** Stored bodies by id. Leaves out bodies longer than `SHORT_BODY_BYTES`. */
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

  /** @returns the rejected delivery with its body; null if the id doesn't exist. */
  async get(id: number) {
    const row = await this.#db.read.sql.selectFrom('sync_rejected').selectAll().where('rejected_id', '=', id).executeTakeFirst()
    return row ? { ...summaryOf({ ...row, kept_bytes: row.body?.length ?? null }), body: row.body } : null
  }

  /** @returns a stored body with its encrypted tax ids decrypted. Dropped tax ids stay dropped. */
  original(body: Buffer, { account, received_at: receivedAt }: Pick<RejectedRecord, 'account' | 'received_at'>): Buffer {
    return this.#db.protection.revealBytes(body, rejectedPlace({ account, receivedAt }))
  }

  /** Records that a rejected delivery was verified later and is now in the inbox. */
  async markReplayed(id: number): Promise<void> {
    const replayedAt = timeFromMs(this.#db.clock.now())
    await this.#db.write('rejected-replayed', (tx) =>
      tx.sql.updateTable('sync_rejected').set({ replayed_at: replayedAt }).where('rejected_id', '=', id).execute(),
    )
  }

  /**
   * Cuts path and body to their limits, and drops or encrypts tax ids (see `original`).
   * Copies the body. Otherwise, the queue would keep whole requests in memory.
   * @returns the delivery to store.
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
    // No `await` follows the last check of the queue, so the queue is still empty here.
    // A later `keep` starts a new write.
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

/** Identifies a body for the encryption of its tax ids. The key is `receivedAt`, because the row has no id yet. */
export function rejectedPlace({ account, receivedAt }: Pick<Rejected, 'account' | 'receivedAt'>) {
  return { account: account ?? '', table: 'sync_rejected', key: JSON.stringify([receivedAt]), column: 'body' }
}

type SummaryRow = Omit<Selectable<RejectedTable>, 'body'> & { readonly kept_bytes: number | null }

/**
 * Adds `body_bytes`, the length of the original body. `body_cut` is true if only a part of the body is stored. The
 * signature of a cut body can't be verified again.
 */
function summaryOf({ kept_bytes, ...row }: SummaryRow) {
  const headers = JSON.parse(row.headers) as Record<string, string>
  /** null if no body is stored. */
  const body_bytes = kept_bytes === null ? null : Number(headers[LENGTH_HEADER])
  return { ...row, headers, body_bytes, body_cut: body_bytes !== null && body_bytes > (kept_bytes ?? 0) }
}

/** A delivery counts as one unit, plus one unit for each full `UNIT_BYTES` of its body. */
const UNIT_BYTES = 32 << 10
const MINUTE_MS = 60_000
/** Units that one sender may store per minute: 60 small deliveries, or one body of 1 MiB and 27 small deliveries. */
const SENDER_PER_MINUTE = 60
/** Units per minute that the senders share. With many senders, the total may be higher (see `MinuteShares`). */
const ALL_PER_MINUTE = 600
const MAX_SENDERS = 10_000
/** Number of IPv6 groups that identify a sender (a /48 site). One host can use all 65,536 networks of its site. */
const SITE_GROUPS = 3

/** Fields of a rejected delivery that the limits need. */
interface Kept {
  readonly address: string
  /** null if there is no body. */
  readonly bodyBytes: number | null
}

function unitsOf({ bodyBytes }: Kept): number {
  return 1 + Math.floor((bodyBytes ?? 0) / UNIT_BYTES)
}

/**
 * Selects deliveries to remove, until the other deliveries have at most `maxUnits` units.
 * In each step, selects the oldest delivery of the sender that still has the most units.
 * @param kept the deliveries, oldest first.
 */
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
 * Limits how many units each sender may store per minute, so that one sender can't use the units of all senders.
 * A sender's limit is `ALL_PER_MINUTE` divided by the number of senders so far. The limit is at most
 * `SENDER_PER_MINUTE`, and at least 1: one small delivery.
 * After `MAX_SENDERS` senders in a minute, further senders may store nothing.
 */
class MinuteShares {
  #beganAt = Number.NEGATIVE_INFINITY
  #units = new Map<string, number>()

  /**
   * Subtracts the size of a rejected delivery, in units, from its sender's share of this minute.
   * @returns false, and subtracts nothing, if the share has too few units left, or if too many senders have a share.
   */
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
