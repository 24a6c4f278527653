import { readableRow } from '../../model/damaged.ts'
import type { Row } from '../../model/entity.ts'
import { partsOfRowKey } from '../../model/row-key.ts'
import type { Query } from '../../store/engine/db.ts'
import { findRow, publicTables } from '../../store/mirror/public-rows.ts'
import { NotFoundError } from '../output/refusals.ts'

/**
 * One row with everything that is stored of it.
 * @param key as `row_key` in lists.
 * @throws NotFoundError when there is no such row.
 */
export async function shownRow(q: Query, table: string, key: string): Promise<Row> {
  const spec = publicTables.find((each) => each.table === table)
  const parts = partsOfRowKey(key)
  const row = spec && parts?.length === spec.key.length ? await findRow(q, spec, parts) : null
  if (row === null) throw new NotFoundError([`there is no such row of ${table}`])
  return readableRow(row)
}
