/** Rows per step, and limits of a page: rows read, and milliseconds after which no further step begins. */
const STEP = 1_000
const MOST_READ = 20_000
const LONGEST_MS = 75

interface RowSearch<Row> {
  /** Newest rows below `after`. */
  readonly read: (after: number | undefined, limit: number) => Promise<readonly Row[]>
  readonly numberOf: (row: Row) => number
  /** @returns matching rows in the same order. */
  readonly wanted: (rows: readonly Row[]) => readonly Row[] | Promise<readonly Row[]>
}

/**
 * Searches rows without an index, newest first. A page reads for a limited time and at most `MOST_READ` rows, so it may have fewer than `limit` rows.
 * @returns the page and the number to continue after; null at the end.
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
