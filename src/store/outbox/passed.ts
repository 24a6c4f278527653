import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import type { Query, Tx } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { syncPassed } from '../schema/push.ts'
import { specOf } from '../schema/table.ts'
import type { DestinationRow } from './destinations.ts'

/** A record of the mirror, named as in the outbox. */
export interface PassedRecord {
  readonly account: string
  readonly entity: string
  /** The key after `account`, as JSON array text. */
  readonly entityId: string
}

/** What is known of a record that has passed the `filter` of a destination. */
export interface Passed {
  /** Whether the destination has it: false since it ceased to pass. */
  readonly isIn: boolean
  /** The change with which it began, or ceased, to pass; 0: it was sent before there was a filter. */
  readonly seq: number
  /** The newest change that is contained in what was sent of it as a whole row. */
  readonly through: number
}

/** A record, and the submission that it belongs to. */
export interface SentRecord extends PassedRecord {
  readonly submissionId: string | null
}

/** What is known of records before some of their changes are judged. */
export interface Known {
  /** By `passedText`; records of which nothing is known are missing. */
  readonly passed: ReadonlyMap<string, Passed>
  /** Those of them that were sent before there was a filter, which is not stored yet. */
  readonly unstored: readonly (PassedRecord & Passed)[]
  /** Whether others may have been sent before there was a filter. */
  readonly isPartial: boolean
}

const passed = specOf(syncPassed)

/** @returns the record as a map key. */
export function passedText({ account, entity, entityId }: PassedRecord): string {
  return JSON.stringify([account, entity, entityId])
}

/** What is known of these records, by `passedText`; those that never passed are missing. */
export async function passedAmong(q: Query, destination: string, records: readonly PassedRecord[]): Promise<Map<string, Passed>> {
  const keys = new Map(records.map((record) => [passedText(record), keyOf(destination, record)]))
  const rows = keys.size === 0 ? [] : await q.selectMany(passed, [...keys.values()])
  return new Map(
    rows.map((row) => {
      const record = { account: String(row['account']), entity: String(row['entity']), entityId: String(row['entity_id']) }
      return [passedText(record), { isIn: row['is_in'] === 1, seq: Number(row['seq']), through: Number(row['through']) }]
    }),
  )
}

/** What is known of these records: what the `filter` said of them, and else what was sent of them before there was one. */
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
 * Those of the records that a destination has, or may have, or is about to get: it calls them by an id, or its outbox has something of them.
 * What retention has removed from the outbox does not count.
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
  // By the index of a submission's rows.
  const isInOutbox = (ofSubmission: RawBuilder<unknown>) => sql`exists (
    select 1 from sync_outbox o where ${isSame('o')} and ${ofSubmission} and o.destination = ${destination}
      and o.state in ('ready', 'delivered', 'unknown'))`
  const { rows } = await sql<{ account: string; entity: string; entity_id: string }>`
    select given.account, given.entity, given.entity_id from ${valuesTable(q, asked, [...keys.values()])}
    where exists (select 1 from sync_remote_ids r where r.destination = ${destination} and ${isSame('r')})
      or ${isInOutbox(sql`o.submission_id = given.submission_id`)}
      or (given.submission_id is null and ${isInOutbox(sql`o.submission_id is null`)})`.execute(q.sql)
  return rows.map(({ account, entity, entity_id: entityId }) => ({ account, entity, entityId }))
}

/** Stores what is known of records now. @param known their state; each record once. */
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
