import { type RawBuilder, sql } from 'kysely'
import type { Db, Query } from './db.ts'
import { distinctIn } from './sql.ts'

/** Rows per transaction. */
const PAGE = 1_000
/** Pause between pages in ms, during which other transactions can use the database. */
const PAUSE_MS = 20

export interface PagedUpdate {
  readonly table: string
  /** Columns of the primary key. Omit `key` if one statement can update the whole table. */
  readonly key?: readonly [string, ...string[]]
  /** Updates only rows with this value in the first key column. */
  readonly first?: string
  /** SQL that selects the rows and sets the columns. Called for each page. */
  readonly change: (q: Query) => { readonly where: RawBuilder<unknown>; readonly set: RawBuilder<unknown> }
}

/**
 * Updates a table page by page, so that no transaction takes long.
 * Begins no transaction for pages without matching rows.
 * @param name name of the transactions.
 * @returns the number of changed rows. After an abort, returns the number of rows changed until then.
 */
export async function updateInPages(db: Db, name: string, update: PagedUpdate, signal: AbortSignal): Promise<number> {
  const { table, key, first } = update
  if (key === undefined) return await updatePage(db, name, update, sql`1 = 1`)
  const firsts =
    first === undefined
      ? await db.read.all(sql<{ value: string }>`select value from ${distinctIn(table, key[0])} as firsts`)
      : [{ value: first }]
  let changed = 0
  for (const { value } of firsts) changed += await updatePart(db, name, { ...update, key, first: value }, signal)
  return changed
}

/**
 * Updates the rows with one value in the first key column, page by page.
 * The first key column is compared with `=`, the other key columns with `(…) > (…)`. If the first column were also in
 * the second comparison, SQLite might use another index that begins with this column.
 */
async function updatePart(
  db: Db,
  name: string,
  update: PagedUpdate & Required<Pick<PagedUpdate, 'key' | 'first'>>,
  signal: AbortSignal,
): Promise<number> {
  const {
    table,
    key: [column, ...others],
    first,
  } = update
  const names = sql.join(others.map((other) => sql.ref(other)))
  const isOfPart = sql`${sql.ref(column)} = ${first}`
  let changed = 0
  for (let after = isOfPart; !signal.aborted; await db.clock.sleep(PAUSE_MS, signal)) {
    const [last] = await db.read.all(sql<Record<string, unknown>>`
      select ${names} from ${sql.table(table)} where ${after} order by ${names} limit 1 offset ${sql.lit(PAGE - 1)}`)
    const end = last === undefined ? null : sql`(${sql.join(Object.values(last).map((value) => sql`${value}`))})`
    changed += await updatePage(db, name, update, end === null ? after : sql`${after} and (${names}) <= ${end}`)
    if (end === null) break
    after = sql`${isOfPart} and (${names}) > ${end}`
  }
  return changed
}

async function updatePage(db: Db, name: string, { table, change }: PagedUpdate, isInPage: RawBuilder<unknown>): Promise<number> {
  const found = await db.read.all(sql`select 1 from ${sql.table(table)} where ${isInPage} and ${change(db.read).where} limit 1`)
  if (found.length === 0) return 0
  return await db.write(name, async (tx) => {
    const { where, set } = change(tx)
    return await tx.run(sql`update ${sql.table(table)} set ${set} where ${isInPage} and ${where}`)
  })
}
