import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { quotes } from '../../../src/model/entities/quotes.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { migrate, missingComments } from '../../../src/store/migrate/migrate.ts'
import { relations } from '../../../src/store/schema/tables.ts'
import { postgresDatabase, runSql } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

async function opened(): Promise<Db> {
  const { db } = await closedAtEnd(postgresDatabase.open({ migrated: false }))
  await migrate(db)
  return db
}

async function commentOf(db: Db, table: string, column: string | null): Promise<string | null> {
  const row = await db.read.one(sql<{ text: string | null }>`
    select case when a.attnum is null then obj_description(c.oid, 'pg_class') else col_description(c.oid, a.attnum) end as text
    from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = ${column}::text
    where c.oid = to_regclass(${table})`)
  return row?.text ?? null
}

it('every public table, view and column of Postgres has a comment', async () => {
  const db = await opened()
  expect(await commentOf(db, 'quotes', null)).toBe(quotes.holds)
  expect(await commentOf(db, 'quotes', 'total_cents')).toMatch(/^the quote's total, as sent; .*\. Source: total_cents\. Class: business\.$/)
  for (const { name, columns } of relations) {
    expect([name, await commentOf(db, name, null)]).toEqual([name, expect.any(String)])
    for (const column of Object.keys(columns)) expect([column, await commentOf(db, name, column)]).toEqual([column, expect.any(String)])
  }
  expect(await missingComments(db.read)).toEqual([])
})

it('the next migration corrects a changed comment, and leaves a correct one', async () => {
  const db = await opened()
  await runSql(db, sql`comment on column quotes.total_cents is 'something else'`)
  expect((await missingComments(db.read)).map(({ name, field }) => `${name}.${field}`)).toEqual(['quotes.total_cents'])
  await migrate(db)
  expect(await missingComments(db.read)).toEqual([])
})
