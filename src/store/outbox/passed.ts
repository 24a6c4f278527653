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
  /** Key without `account`, as JSON array text. */
  readonly entityId: string
}

/** Filter state of a record that has matched a destination's `filter`. */
export interface Passed {
  /** Whether the destination has the record. False if it stopped matching. */
  readonly isIn: boolean
  /** The change with which the record started or stopped matching; 0 if sent before there was a filter. */
  readonly seq: number
  /** The newest change contained in the full row that was sent. */
  readonly through: number
}

export interface SentRecord extends PassedRecord {
  readonly submissionId: string | null
}

/** Filter state of records before some of their changes are filtered. */
export interface Known {
  /** By `passedText`; contains no unknown records. */
  readonly passed: ReadonlyMap<string, Passed>
  /** Records sent before there was a filter, without a stored state. */
  readonly unstored: readonly (PassedRecord & Passed)[]
  /** Whether other records may have been sent before there was a filter. */
  readonly isPartial: boolean
}

const passed = specOf(syncPassed)

export function passedText({ account, entity, entityId }: PassedRecord): string {
  return JSON.stringify([account, entity, entityId])
}

/** By `passedText`. Only records that have matched. */
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

/** Stored filter state of these records. If none is stored: whether they were sent before there was a filter. */
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

/** The records that a destination has or may get: their target id is stored, or the outbox still has rows for them. */
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
  // Uses the index on submissions.
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

/** Stores the filter state of records. @param known distinct records. */
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
