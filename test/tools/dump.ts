import { sql } from 'kysely'
import type { Db } from '../../src/store/engine/db.ts'

export async function dumpOf(db: Db): Promise<string> {
  const parts: string[] = []
  for (const { name } of await tables(db)) {
    const rows = await db.read.all(sql<Record<string, unknown>>`select * from ${sql.table(name)}`)
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
  return db.read.all(text)
}

function textOf(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
