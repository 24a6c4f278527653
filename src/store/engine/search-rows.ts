/** Rows per step. */
const STEP = 1_000
/** Maximum rows to read per page. */
const MOST_READ = 20_000
/** Time in ms after which a page begins no further step. */
const LONGEST_MS = 75

interface RowSearch<Row> {
  /** Reads up to `limit` rows, newest first. With `after`, reads only rows with a lower number. */
  readonly read: (after: number | undefined, limit: number) => Promise<readonly Row[]>
  readonly numberOf: (row: Row) => number
  /** @returns the matching rows, in the same order. */
  readonly wanted: (rows: readonly Row[]) => readonly Row[] | Promise<readonly Row[]>
}

/**
 * Searches rows without an index, newest first.
 * A page ends after reading `MOST_READ` rows or after `LONGEST_MS`, so it may have fewer than `limit` matching rows.
 * @param from `after` of the previous page; undefined for the first page.
 * @returns `items`: the matching rows; `after`: the value of `from` for the next page, null at the end.
 */
export async function searchRows<Row>({ read, numberOf, wanted }: RowSearch<Row>, from: number | undefined, limit: number) {
  const items: Row[] = []
  let after = from
  const startedAt = performance.now()
  for (let seen = 0; seen < MOST_READ && performance.now() - startedAt < LONGEST_MS; seen += STEP) {
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
