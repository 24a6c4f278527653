import { type RawBuilder, sql } from 'kysely'
import type { Db, Query } from './db.ts'

/** Rows per transaction. */
const PAGE = 1_000
/** Pause between pages, for other users of the database. */
const PAUSE_MS = 20

export interface PagedUpdate {
  readonly table: string
  /** Columns of the index to page by; omitted if one statement can update the table. */
  readonly key?: readonly string[]
  /** With `key`: a condition on its first column. */
  readonly part?: RawBuilder<unknown>
  /** Selects rows and sets columns. Called for each page. */
  readonly change: (q: Query) => { readonly where: RawBuilder<unknown>; readonly set: RawBuilder<unknown> }
}

/**
 * Updates a table page by page, so that no transaction takes long. Pages without matching rows need no write.
 * @param name of the transactions. @returns the number of changed rows, also if aborted.
 */
export async function updateInPages(db: Db, name: string, { table, key, part, change }: PagedUpdate, signal: AbortSignal): Promise<number> {
  const names = sql.join((key ?? []).map((column) => sql.ref(column)))
  const order = (row: Readonly<Record<string, unknown>>) => sql.join(Object.values(row).map((value) => sql`${value}`))
  let changed = 0
  for (let after = part === undefined ? sql`` : sql`and ${part}`; !signal.aborted; await db.clock.sleep(PAUSE_MS, signal)) {
    const [last] = key === undefined ? [] : await pageEnd(db.read, table, names, after)
    const isInPage = last === undefined ? after : sql`${after} and (${names}) <= (${order(last)})`
    const { where } = change(db.read)
    const found = await db.read.all(sql`select 1 from ${sql.table(table)} where ${where} ${isInPage} limit 1`)
    if (found.length > 0)
      changed += await db.write(name, async (tx) => {
        const now = change(tx)
        return await tx.run(sql`update ${sql.table(table)} set ${now.set} where ${now.where} ${isInPage}`)
      })
    if (last === undefined) break
    after = sql`and ${part ?? sql`1 = 1`} and (${names}) > (${order(last)})`
  }
  return changed
}

async function pageEnd(q: Query, table: string, names: RawBuilder<unknown>, after: RawBuilder<unknown>) {
  return await q.all(sql<Record<string, unknown>>`
    select ${names} from ${sql.table(table)} where 1 = 1 ${after} order by ${names} limit 1 offset ${sql.lit(PAGE - 1)}`)
}
