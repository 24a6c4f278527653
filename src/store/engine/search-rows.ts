/** Rows read at once, and at most for one page. */
const STEP = 1_000
const MOST_READ = 20_000

interface RowSearch<Row> {
  /** The newest rows behind a number. */
  readonly read: (after: number | undefined, limit: number) => Promise<readonly Row[]>
  readonly numberOf: (row: Row) => number
  /** @returns those of the rows that are looked for, in their order. */
  readonly wanted: (rows: readonly Row[]) => readonly Row[] | Promise<readonly Row[]>
}

/**
 * Looks for what no index finds through rows, the newest first, for as long as a page may take: it may hold fewer than `limit`.
 * @returns a page, and behind which number to go on; null at the end.
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
