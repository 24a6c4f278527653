import Database from 'better-sqlite3'
import { systemClock } from '../../src/base/clock.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { newSqlite, silentLog } from '../tools/databases.ts'

/** Rows by table, in order of writing. */
export type RowsByTable<T extends string = string> = Readonly<Record<T, readonly (readonly unknown[])[]>>

export function share(rows: readonly (readonly unknown[])[], n: number, transactions: number): readonly (readonly unknown[])[] {
  const each = Math.ceil(rows.length / transactions)
  return rows.slice(n * each, (n + 1) * each)
}

export function sqliteRows<T extends string>(path: string, tables: readonly T[]): RowsByTable<T> {
  const database = new Database(path, { readonly: true })
  const rows = tables.map((table) => [table, database.prepare(`select * from ${table}`).raw().all() as unknown[][]])
  database.close()
  return Object.fromEntries(rows) as RowsByTable<T>
}

/** Writes rows into a new SQLite database with prepared statements and durable transactions. @returns seconds. */
export async function writeSqlite(rows: RowsByTable, transactions: number): Promise<number> {
  const place = newSqlite()
  const db = await openDb(place.config, { clock: systemClock, log: silentLog })
  await migrate(db)
  await db.close()
  const database = new Database(place.config.path)
  database.pragma('synchronous = full')
  const written = Object.entries(rows).filter(([, those]) => those.length > 0)
  const inserts = written.map(([table, [first = []]]) => database.prepare(`insert into ${table} values (${first.map(() => '?').join()})`))
  const startedAt = performance.now()
  for (let n = 0; n < transactions; n++) {
    database.transaction(() => {
      written.forEach(([, those], index) => {
        for (const row of share(those, n, transactions)) inserts[index]?.run(...row)
      })
    })()
  }
  const seconds = (performance.now() - startedAt) / 1000
  database.close()
  await place.remove()
  return seconds
}
