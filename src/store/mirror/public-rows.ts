import { entities } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { Query, TableSpec } from '../engine/db.ts'
import { changes } from '../schema/log.ts'
import { extraReads } from '../schema/reads.ts'
import { reconcileFindings } from '../schema/reconcile.ts'
import { specOf } from '../schema/table.ts'

/** Tables whose rows can be read by key: service data, extra reads, the change log, and findings. */
export const publicTables: readonly TableSpec[] = [...entities, specOf(extraReads), specOf(changes), specOf(reconcileFindings)]

/** Finds a row with all its columns; null if no row has this key. @param key values of the key columns, in order. */
export async function findRow(q: Query, spec: TableSpec, key: readonly string[]): Promise<Row | null> {
  const where: Row = {}
  for (const [position, column] of spec.key.entries()) {
    const text = key[position] ?? ''
    const isNumber = spec.columns[column] === 'int'
    if (isNumber && !/^\d{1,15}$/.test(text)) return null
    where[column] = isNumber ? Number(text) : text
  }
  const [row] = await q.selectMany(spec, [where])
  return row ?? null
}
