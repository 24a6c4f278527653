import { sql } from 'kysely'
import type { Db } from '../../src/store/engine/db.ts'

/** @returns everything that every table of the database holds, as text. */
export async function dumpOf(db: Db): Promise<string> {
  const parts: string[] = []
  for (const { name } of (await tables(db)).rows) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db.read.sql)
    for (const row of rows) parts.push(`${name} ${Object.values(row).map(textOf).join(' ')}`)
  }
  return parts.join('\n')
}

function tables(db: Db) {
  const text =
    db.kind === 'sqlite'
      ? sql<{ name: string }>`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`
      : sql<{
          name: string
        }>`select table_name as name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'`
  return text.execute(db.read.sql)
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
