import type { Query } from '../engine/db.ts'
import { searchRows } from '../engine/search-rows.ts'
import { fitting, type InboxSearch } from './fits.ts'
import { type InboxFilter, listDeliveries } from './queries.ts'

/** Looks through the deliveries that a filter matches; see `searchRows`. */
export async function searchDeliveries(q: Query, filter: InboxFilter, search: InboxSearch, limit: number) {
  const read = (after: number | undefined, most: number) => listDeliveries(q, { ...filter, after }, most)
  return await searchRows({ read, numberOf: (row) => row.inbox_id, wanted: (rows) => fitting(rows, search) }, filter.after, limit)
}
