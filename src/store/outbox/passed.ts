import type { Row } from '../../model/entity.ts'
import type { Query, Tx } from '../engine/db.ts'
import { syncPassed } from '../schema/push.ts'
import { specOf } from '../schema/table.ts'

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
  /** The change with which it began, or ceased, to pass. */
  readonly seq: number
  /** The newest change that is contained in what was sent of it as a whole row. */
  readonly through: number
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
