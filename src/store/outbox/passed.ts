import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import type { Query, Tx } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { syncPassed } from '../schema/push.ts'
import { specOf } from '../schema/table.ts'
import type { DestinationRow } from './destinations.ts'

export interface PassedRecord {
  readonly account: string
  readonly entity: string
  /** The record's key without `account`, as the text of a JSON array. */
  readonly entityId: string
}

/**
 * Filter state of a record at one destination. A record has a filter state if it ever matched the destination's
 * `filter`. A record that was sent before the destination had a filter also has a filter state.
 */
export interface Passed {
  /** True if the record matches the filter now; false if it no longer matches. */
  readonly isIn: boolean
  /**
   * Number of the change since which `isIn` has its value. 0 if the record was sent before the destination
   * had a filter.
   */
  readonly seq: number
  /** The newest full row that was sent contains the changes up to this number. */
  readonly through: number
}

export interface SentRecord extends PassedRecord {
  readonly submissionId: string | null
}

/** Filter states of records, before the filter decides about new changes of these records. */
export interface Known {
  /**
   * Filter state of each record. Map key: the text that `passedText` returns.
   * A record without a filter state has no entry.
   */
  readonly passed: ReadonlyMap<string, Passed>
  /** Records that were sent before the destination had a filter, and whose filter state isn't stored yet. */
  readonly unstored: readonly (PassedRecord & Passed)[]
  /**
   * Whether the destination received changes before it had a filter. If so, the filter states of some records may not
   * be stored.
   */
  readonly isPartial: boolean
}

const passed = specOf(syncPassed)

export function passedText({ account, entity, entityId }: PassedRecord): string {
  return JSON.stringify([account, entity, entityId])
}

/**
 * Reads the stored filter state of each record. Map key: the text that `passedText` returns.
 * A record without a stored filter state has no entry.
 */
async function passedAmong(q: Query, destination: string, records: readonly PassedRecord[]): Promise<Map<string, Passed>> {
  const keys = new Map(records.map((record) => [passedText(record), keyOf(destination, record)]))
  const rows = keys.size === 0 ? [] : await q.selectMany(passed, [...keys.values()])
  return new Map(
    rows.map((row) => {
      const record = { account: String(row['account']), entity: String(row['entity']), entityId: String(row['entity_id']) }
      return [passedText(record), { isIn: row['is_in'] === 1, seq: Number(row['seq']), through: Number(row['through']) }]
    }),
  )
}

/**
 * Reads the filter states of these records. A record that was sent before the destination had a filter counts as
 * matching, even if its filter state isn't stored.
 */
export async function knownAmong(
  q: Query,
  { destination, cursor, filtered_from: from }: Pick<DestinationRow, 'destination' | 'cursor' | 'filtered_from'>,
  records: readonly SentRecord[],
): Promise<Known> {
  const found = await passedAmong(q, destination, records)
  const isPartial = (from ?? cursor) > 0
  const others = isPartial ? records.filter((record) => !found.has(passedText(record))) : []
  const unstored = (await sentAmong(q, destination, others)).map((record) => ({ ...record, isIn: true, seq: 0, through: 0 }))
  for (const each of unstored) found.set(passedText(each), each)
  return { passed: found, unstored, isPartial }
}

const asked = { account: 'text', submission_id: 'text', entity: 'text', entity_id: 'text' } as const

/**
 * Finds which of these records the destination has or may get. Either the record's id at the target is stored, or the
 * outbox has a ready, delivered, or unknown row of the record.
 */
export async function sentAmong(q: Query, destination: string, records: readonly SentRecord[]): Promise<PassedRecord[]> {
  const keys = new Map(
    records.map((record) => {
      const { account, submissionId, entity, entityId } = record
      return [passedText(record), { account, submission_id: submissionId, entity, entity_id: entityId }] as const
    }),
  )
  if (keys.size === 0) return []
  const isSame = (table: string) =>
    sql.raw(`${table}.account = given.account and ${table}.entity = given.entity and ${table}.entity_id = given.entity_id`)
  // The condition on the submission makes the database use the index on submissions.
  const isInOutbox = (ofSubmission: RawBuilder<unknown>) => sql`exists (
    select 1 from sync_outbox o where ${isSame('o')} and ${ofSubmission} and o.destination = ${destination}
      and o.state in ('ready', 'delivered', 'unknown'))`
  const rows = await q.all(sql<{ account: string; entity: string; entity_id: string }>`
    select given.account, given.entity, given.entity_id from ${valuesTable(q, asked, [...keys.values()])}
    where exists (select 1 from sync_remote_ids r where r.destination = ${destination} and ${isSame('r')})
      or ${isInOutbox(sql`o.submission_id = given.submission_id`)}
      or (given.submission_id is null and ${isInOutbox(sql`o.submission_id is null`)})`)
  return rows.map(({ account, entity, entity_id: entityId }) => ({ account, entity, entityId }))
}

/**
 * Stores the filter states of records.
 * @param known filter states; each record occurs once.
 */
export async function storePassed(tx: Tx, destination: string, known: readonly (PassedRecord & Passed)[]): Promise<void> {
  if (known.length === 0) return
  const rows = known.map(
    (each): Row => ({
      ...keyOf(destination, each),
      is_in: each.isIn ? 1 : 0,
      seq: each.seq,
      through: each.through,
    }),
  )
  await tx.insertMany(passed, rows, { ignore: true })
  await tx.updateMany(passed, ['is_in', 'seq', 'through'], rows)
}

function keyOf(destination: string, { account, entity, entityId }: PassedRecord): Row {
  return { destination, account, entity, entity_id: entityId }
}
