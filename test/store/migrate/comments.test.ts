import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { quotes } from '../../../src/model/entities/quotes.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { missingComments } from '../../../src/store/migrate/comments.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { relations } from '../../../src/store/schema/tables.ts'
import { postgresDatabase } from '../../tools/databases.ts'

async function opened(): Promise<Db> {
  const { db, close } = await postgresDatabase.open({ migrated: false })
  onTestFinished(close)
  await migrate(db)
  return db
}

async function commentOf(db: Db, table: string, column: string | null): Promise<string | null> {
  const { rows } = await sql<{ text: string | null }>`
    select case when a.attnum is null then obj_description(c.oid, 'pg_class') else col_description(c.oid, a.attnum) end as text
    from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = ${column}::text
    where c.oid = to_regclass(${table})`.execute(db.read.sql)
  return rows[0]?.text ?? null
}

it('every public table, view and column of postgres says what it holds', async () => {
  const db = await opened()
  expect(await commentOf(db, 'quotes', null)).toBe(quotes.holds)
  expect(await commentOf(db, 'quotes', 'total_cents')).toBe('the total. Source: total_cents. Class: business.')
  for (const { name, columns } of relations) {
    expect([name, await commentOf(db, name, null)]).toEqual([name, expect.any(String)])
    for (const column of Object.keys(columns)) expect([column, await commentOf(db, name, column)]).toEqual([column, expect.any(String)])
  }
  expect(await missingComments(db.read)).toEqual([])
})

it('a comment that says something else is set right by the next migration, and one that stands is left', async () => {
  const db = await opened()
  await db.write('test', (tx) => sql`comment on column quotes.total_cents is 'something else'`.execute(tx.sql))
  expect((await missingComments(db.read)).map(({ name, field }) => `${name}.${field}`)).toEqual(['quotes.total_cents'])
  await migrate(db)
  expect(await missingComments(db.read)).toEqual([])
})
