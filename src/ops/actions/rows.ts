import { readableRow } from '../../model/damaged.ts'
import type { Row } from '../../model/entity.ts'
import { partsOfRowKey } from '../../model/row-key.ts'
import { findRow, publicTables } from '../../store/mirror/public-rows.ts'
import { NotFoundError } from '../output/refusals.ts'
import type { ActionContext } from './context.ts'
import { noteShowing } from './showing.ts'

const NOTED_LENGTH = 500

/**
 * One row with everything that is stored of it, with a note of who saw it.
 * @param key as `row_key` in lists.
 * @throws NotFoundError when there is no such row.
 */
export async function showRow(a: ActionContext, table: string, key: string): Promise<Row> {
  const spec = publicTables.find((each) => each.table === table)
  const parts = partsOfRowKey(key)
  const row = spec && parts?.length === spec.key.length ? await findRow(a.db.read, spec, parts) : null
  if (row === null) throw new NotFoundError([`there is no such row of ${table}`])
  const { account = null, submission_id = null } = row
  const detail = { account, submission_id, key: key.slice(0, NOTED_LENGTH) }
  await noteShowing(a, 'row.show', table, detail)
  return readableRow(row)
}
