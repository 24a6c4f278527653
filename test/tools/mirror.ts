import { sql } from 'kysely'
import { type Applied, inApplyTransaction } from '../../src/apply/apply.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { entities } from '../../src/model/entities.ts'
import type { Entity, Row } from '../../src/model/entity.ts'
import type { Observation } from '../../src/model/observations.ts'
import type { Db } from '../../src/store/engine/db.ts'

export function applyAll(db: Db, observations: readonly Observation[]): Promise<Applied> {
  return inApplyTransaction(db, silentObserver, 'test-apply', (transaction) => transaction.apply(observations))
}

export function applyEach<T>(db: Db, items: readonly T[], factOf: (item: T, n: number) => Observation): Promise<Applied> {
  return applyAll(db, items.map(factOf))
}

/** Columns that may differ between mirrors of the same truth (invariant 2). */
const READ_TIMES = ['state_read_at', 'rail_read_at', 'quote_history_read_at', 'assessment_read_at']
const PASSING = new Set(['first_seen_at', 'first_seen_via', 'tracked_at', 'tracked_via', 'gone_at', ...READ_TIMES])

export async function rowsOf(db: Db, entity: Entity): Promise<Row[]> {
  const rows = await db.read.selectWhere(entity, {})
  const key = (row: Row) => JSON.stringify(entity.key.map((column) => row[column]))
  return rows.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** The whole mirror without columns that may differ and gone rows, since seeing passing states depends on the time of reads. */
export async function mirrorOf(db: Db): Promise<Record<string, Row[]>> {
  const tables: Record<string, Row[]> = {}
  for (const entity of entities) {
    const present = (await rowsOf(db, entity)).filter((row) => (row['gone_at'] ?? null) === null)
    tables[entity.table] = present.map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => !PASSING.has(column))))
  }
  return tables
}

export interface ChangeRow {
  readonly seq: number
  readonly account: string
  readonly submission_id: string
  readonly entity: string
  readonly entity_id: string
  readonly operation: string
  readonly cause: string
  readonly before: Row | null
  readonly after: Row | null
}

export async function changesOf(db: Db, after = 0): Promise<ChangeRow[]> {
  const rows = await db.read.all(
    sql<ChangeRow>`select seq, account, submission_id, entity, entity_id, operation, cause, before, after from changes where seq > ${after} order by seq`,
  )
  return rows.map((row) => ({ ...row, before: parsed(row.before), after: parsed(row.after) }))
}

/** Replays the change log: the knowledge of a reader. */
export function replayChanges(changes: readonly ChangeRow[]): Map<string, Row> {
  const rows = new Map<string, Row>()
  for (const change of changes) {
    const key = `${change.account} ${change.entity} ${change.entity_id}`
    rows.set(key, { ...rows.get(key), ...change.after })
  }
  return rows
}

function parsed(value: unknown): Row | null {
  return typeof value === 'string' ? (JSON.parse(value) as Row) : (value as Row | null)
}
