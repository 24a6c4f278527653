import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { comparableText } from '../../base/sealed.ts'
import type { ReadKind } from '../../model/reads.ts'
import type { Via } from '../../model/records.ts'
import type { TimeText } from '../../model/time.ts'
import type { Tx } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { syncArrivals, syncConflicts, syncUnreadable } from '../schema/completeness.ts'
import { specOf } from '../schema/table.ts'

/**
 * One fact about an event or message that a feed showed before any webhook announced it. A record may have several
 * facts. A record whose webhook came first has none.
 * - `feed`: a poll or a reconcile run read the record from a feed first. Left out if the record is too old to expect a
 *   webhook (see `isBeforeWebhooks`).
 * - `full_read`: the poller's full re-read found the record. Stored in addition to `feed`. Reconcile runs don't count
 *   as full re-reads. The first read of a feed doesn't either.
 * - `webhook`: a webhook announced the record after a feed had shown it.
 */
export interface Arrival {
  readonly account: string
  readonly entity: string
  readonly submission_id: string
  readonly record_id: string
  readonly way: 'webhook' | 'feed' | 'full_read'
}

/**
 * A record whose content conflicts with the stored record.
 * `kept` is the stored version, and `refused` is the rejected version. Both are JSON text.
 */
export interface Conflict {
  readonly account: string
  readonly entity: string
  readonly submission_id: string
  readonly record_id: string
  /** The differing columns. Lists only columns that must never change. */
  readonly fields: readonly string[]
  /** JSON text of the rejected version's columns that must never change. Equal texts count as the same conflict. */
  readonly identity: string
  readonly kept: string
  readonly refused: string
  readonly via: Via
}

/** A malformed item in the answer of a feed read or a state read. */
export interface Unreadable {
  readonly account: string
  readonly submission_id: string
  readonly read: ReadKind
  /** The item as JSON text. */
  readonly raw: string
}

const arrivals = specOf(syncArrivals)
const conflicts = specOf(syncConflicts)
const unreadable = specOf(syncUnreadable)

/** Stores each fact of `items` that isn't stored yet, with the time `now`. */
export async function noteArrivals(tx: Tx, items: readonly Arrival[], now: TimeText): Promise<void> {
  const distinct = new Map(
    items.map((a) => [`${a.account} ${a.entity} ${a.submission_id} ${a.record_id} ${a.way}`, { ...a, first_at: now }]),
  )
  await tx.insertMany(arrivals, [...distinct.values()], { ignore: true })
}

/**
 * Once a record has this many stored conflicts, further conflicts of the record aren't stored. Without a limit, a
 * record that differs in each read could fill the disk.
 */
const MOST_CONFLICTS = 100

/**
 * Stores each conflict once. Skips a conflict if its record already has `MOST_CONFLICTS`.
 * @returns the number of newly stored conflicts.
 */
export async function noteConflicts(tx: Tx, items: readonly Conflict[], now: TimeText): Promise<number> {
  const full = await fullRecords(tx, items)
  const rows = new Map(
    items
      .filter((item) => !full.has(recordOf(item)))
      .map(({ identity, ...c }) => {
        const conflict_key = digest(comparableText(`${c.fields.join()} ${identity}`))
        return [`${recordOf(c)} ${conflict_key}`, { ...c, conflict_key, fields: c.fields.join(','), seen_at: now }]
      }),
  )
  return tx.insertMany(conflicts, [...rows.values()], { ignore: true })
}

/** @returns the records that have `MOST_CONFLICTS` stored conflicts, each as the text that `recordOf` returns. */
async function fullRecords(tx: Tx, items: readonly Conflict[]): Promise<Set<string>> {
  const keys = items.map(({ account, entity, submission_id, record_id }) => ({ account, entity, submission_id, record_id }))
  const distinct = new Map(keys.map((key) => [recordOf(key), key]))
  const columns = { account: 'text', entity: 'text', submission_id: 'text', record_id: 'text' } as const
  const rows = await tx.all(sql<RecordKey>`
    select k.account, k.entity, k.submission_id, k.record_id
    from ${valuesTable(tx, columns, [...distinct.values()])} join sync_conflicts k on k.account = given.account
      and k.entity = given.entity and k.submission_id = given.submission_id and k.record_id = given.record_id
    group by k.account, k.entity, k.submission_id, k.record_id having count(*) >= ${sql.lit(MOST_CONFLICTS)}`)
  return new Set(rows.map(recordOf))
}

type RecordKey = Pick<Conflict, 'account' | 'entity' | 'submission_id' | 'record_id'>

function recordOf({ account, entity, submission_id, record_id }: RecordKey): string {
  return `${account} ${entity} ${submission_id} ${record_id}`
}

/**
 * If a feed or state read of a submission has this many stored unreadable items, further items aren't stored. Without a
 * limit, an item that differs in each answer could fill the disk.
 */
const MOST_UNREADABLE = 1_000

/**
 * Stores each unreadable item once. Skips an item if its read of the submission already has `MOST_UNREADABLE` items.
 * @returns the number of newly stored items.
 */
export async function noteUnreadable(tx: Tx, items: readonly Unreadable[], now: TimeText): Promise<number> {
  const full = await fullFeeds(tx, items)
  const rows = new Map(
    items
      .filter((item) => !full.has(feedOf(item)))
      .map((item) => {
        const { account, submission_id, read } = item
        const place = { account, table: 'sync_unreadable', key: JSON.stringify([submission_id, read]), column: 'raw' }
        const raw = tx.protection.text(item.raw, place)
        const conflict_key = digest(comparableText(raw))
        return [`${feedOf(item)} ${conflict_key}`, { ...item, raw, conflict_key, seen_at: now }]
      }),
  )
  return tx.insertMany(unreadable, [...rows.values()], { ignore: true })
}

/** @returns the reads that have `MOST_UNREADABLE` stored items, each as the text that `feedOf` returns. */
async function fullFeeds(tx: Tx, items: readonly Unreadable[]): Promise<Set<string>> {
  const full = new Set<string>()
  for (const [feed, { account, submission_id, read }] of new Map(items.map((item) => [feedOf(item), item]))) {
    const kept = await tx.count(sql`
      select count(*) from sync_unreadable where account = ${account} and submission_id = ${submission_id} and read = ${read}`)
    if (kept >= MOST_UNREADABLE) full.add(feed)
  }
  return full
}

function feedOf({ account, submission_id, read }: Unreadable): string {
  return `${account} ${submission_id} ${read}`
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
