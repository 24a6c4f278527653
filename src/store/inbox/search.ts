import type { Query } from '../engine/db.ts'
import { fitting, type InboxSearch } from './fits.ts'
import { type InboxEntry, type InboxFilter, listDeliveries } from './queries.ts'

/** Deliveries read at once, and at most for one page. */
const STEP = 1_000
const MOST_READ = 20_000

/**
 * Looks through the deliveries that a filter matches, the newest first, for as long as a page may take: it may hold fewer than `limit`.
 * @returns a page, and behind which number to go on; null at the end.
 */
export async function searchDeliveries(q: Query, filter: InboxFilter, search: InboxSearch, limit: number) {
  const items: InboxEntry[] = []
  let { after } = filter
  for (let read = 0; read < MOST_READ; read += STEP) {
    const rows = await listDeliveries(q, { ...filter, after }, STEP)
    for (const row of await fitting(rows, search)) {
      items.push(row)
      if (items.length === limit) return { items, after: row.inbox_id }
    }
    after = rows.at(-1)?.inbox_id ?? after
    if (rows.length < STEP) return { items, after: null }
  }
  return { items, after: after ?? null }
}
