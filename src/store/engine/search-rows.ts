/** Rows read in one step, and the most read for one page. */
const STEP = 1_000
const MOST_READ = 20_000

interface RowSearch<Row> {
  /** The newest rows after a number. */
  readonly read: (after: number | undefined, limit: number) => Promise<readonly Row[]>
  readonly numberOf: (row: Row) => number
  /** @returns the matching rows, in their order. */
  readonly wanted: (rows: readonly Row[]) => readonly Row[] | Promise<readonly Row[]>
}

/**
 * Searches rows without an index, the newest first, within the limits of a page: a page may have fewer than `limit` rows. @returns a page,
 * and the number after which to continue; null at the end.
 */
export async function searchRows<Row>({ read, numberOf, wanted }: RowSearch<Row>, from: number | undefined, limit: number) {
  const items: Row[] = []
  let after = from
  for (let seen = 0; seen < MOST_READ; seen += STEP) {
    const rows = await read(after, STEP)
    for (const row of await wanted(rows)) {
      items.push(row)
      if (items.length === limit) return { items, after: numberOf(row) }
    }
    const last = rows.at(-1)
    if (last !== undefined) after = numberOf(last)
    if (rows.length < STEP) return { items, after: null }
  }
  return { items, after: after ?? null }
}
