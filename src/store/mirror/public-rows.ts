import { entities } from '../../model/entities.ts'
import type { Row } from '../../model/entity.ts'
import type { Query, TableSpec } from '../engine/db.ts'
import { findingsTable } from '../reconcile/findings.ts'

/** Tables of which one row can be read by its key: those of service data, what hangs on them, the change log, and findings. */
export const publicTables: readonly TableSpec[] = [
  ...entities,
  {
    table: 'extra_reads',
    key: ['account', 'submission_id', 'name'],
    columns: { account: 'text', submission_id: 'text', name: 'text', read_at: 'time', raw: 'raw' },
  },
  {
    table: 'changes',
    key: ['seq'],
    columns: {
      ...{ seq: 'int', account: 'text', submission_id: 'text', entity: 'text', entity_id: 'text' },
      ...{ operation: 'text', changed_at: 'time', cause: 'text', before: 'json', after: 'json' },
    },
  },
  findingsTable,
]

/** One row with everything that is stored of it. @param key the values of the key, in its order. */
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
