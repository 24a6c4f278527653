import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  missingIndexes,
  missingIndexText,
  missingParts,
  missingRights,
  missingText,
  rightsText,
} from '../../../src/store/migrate/schema-parts.ts'
import { testDatabases } from '../../tools/databases.ts'

describe.each(testDatabases)('the parts of the schema on $name', ({ name, open }) => {
  it('are all there after the migrations, and are named when somebody has taken them away', async () => {
    const { db, close } = await open()
    onTestFinished(close)
    const change = (statement: string) => db.write('test', (tx) => sql.raw(statement).execute(tx.sql))
    expect(await missingParts(db.read)).toEqual([])
    await change('create table theirs (id text)')
    await change('alter table lanes add column ours text')
    expect(await missingParts(db.read)).toEqual([])
    await change('drop view push_status')
    await change('alter table lanes drop column gapped')
    expect(await missingParts(db.read)).toEqual(['the column lanes.gapped', 'the view push_status'])
    await change(`drop table lanes${name === 'sqlite' ? '' : ' cascade'}`)
    const missing = await missingParts(db.read)
    expect(missing).toContain('the table lanes')
    expect(missing.filter((part) => part.includes('column'))).toEqual([])
  })

  it('have all indexes after the migrations, and each that somebody has taken away is named with what makes it again', async () => {
    const { db, close } = await open()
    onTestFinished(close)
    const change = (statement: string) => db.write('test', (tx) => sql.raw(statement).execute(tx.sql))
    expect(await missingIndexes(db.read)).toEqual([])
    for (const index of ['sync_push_lanes_blocked', 'reconcile_findings_once']) await change(`drop index ${index}`)
    const missing = await missingIndexes(db.read)
    expect(missing.map(missingIndexText)).toEqual([
      expect.stringMatching(/^the index sync_push_lanes_blocked is .* \(destination, blocked, due_at\) where blocked is not null$/),
      expect.stringMatching(
        /^the index reconcile_findings_once is missing .* create it again: create unique index reconcile_findings_once on /,
      ),
    ])
    for (const statement of missing) await change(statement)
    expect(await missingIndexes(db.read)).toEqual([])
    await change(`drop table thread_messages${name === 'sqlite' ? '' : ' cascade'}`)
    expect(await missingIndexes(db.read), 'of a table that is not there').toEqual([])
  })

  it('are open to whoever owns them, and to another what he may not do is named', async () => {
    const { db, close } = await open()
    onTestFinished(close)
    expect(await missingRights(db.read)).toEqual([])
    if (name === 'sqlite') return
    const asAnother = db.write('test', async (tx) => {
      const role = sql.id(`another_${randomUUID()}`)
      const { schema } = (await sql<{ schema: string }>`select current_schema() as schema`.execute(tx.sql)).rows[0] ?? { schema: '' }
      await sql`create table theirs (id text)`.execute(tx.sql)
      await sql`create role ${role}`.execute(tx.sql)
      await sql`grant usage on schema ${sql.id(schema)} to ${role}`.execute(tx.sql)
      await sql`grant select, insert, update, delete on all tables in schema ${sql.id(schema)} to ${role}`.execute(tx.sql)
      await sql`revoke all on theirs from ${role}`.execute(tx.sql)
      await sql`revoke insert on sync_inbox from ${role}`.execute(tx.sql)
      await sql`revoke select, delete on quotes from ${role}`.execute(tx.sql)
      await sql`set local role ${role}`.execute(tx.sql)
      // Nothing of it is to stay.
      throw new Error(rightsText(await missingRights(tx)))
    })
    await expect(asAnother).rejects.toThrow(
      /^the user of DATABASE_URL lacks rights: delete on quotes, select on quotes, insert on sync_inbox; grant /,
    )
  })
})

it('of many parts or rights that are missing five are named, and the others counted', () => {
  const missing = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  expect(missingText(missing)).toMatch(/^it lacks a, b, c, d, e and 2 more \(/)
  expect(rightsText(missing)).toMatch(/ lacks rights: a, b, c, d, e and 2 more; /)
  expect(missingText(missing.slice(2))).toMatch(/^it lacks c, d, e, f, g \(/)
})
