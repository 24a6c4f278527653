import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import {
  missingIndexes,
  missingIndexText,
  missingParts,
  missingRights,
  missingText,
  rightsText,
} from '../../../src/store/migrate/schema-parts.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

describe.each(testDatabases)('the parts of the schema on $name', ({ name, open }) => {
  it('all exist after the migrations, and dropped ones are named', async () => {
    const { db } = await closedAtEnd(open())
    const change = (statement: string) => runSql(db, sql.raw(statement))
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

  it('have all indexes after the migrations, and a dropped one is named with its statement', async () => {
    const { db } = await closedAtEnd(open())
    const change = (statement: string) => runSql(db, sql.raw(statement))
    expect(await missingIndexes(db.read)).toEqual([])
    for (const index of ['sync_push_streams_blocked', 'reconcile_findings_once']) await change(`drop index ${index}`)
    const missing = await missingIndexes(db.read)
    expect(missing.map(missingIndexText)).toEqual([
      expect.stringMatching(/^the index sync_push_streams_blocked is .* \(destination, blocked, due_at\) where blocked is not null$/),
      expect.stringMatching(
        /^the index reconcile_findings_once is missing .* create it again: create unique index reconcile_findings_once on /,
      ),
    ])
    for (const statement of missing) await change(statement)
    expect(await missingIndexes(db.read)).toEqual([])
    await change(`drop table thread_messages${name === 'sqlite' ? '' : ' cascade'}`)
    expect(await missingIndexes(db.read), 'of a table that is not there').toEqual([])
  })

  it('are writable by their owner, and missing rights of another role are named', async () => {
    const { db } = await closedAtEnd(open())
    expect(await missingRights(db.read)).toEqual([])
    if (name === 'sqlite') return
    const asAnother = db.write('test', async (tx) => {
      const role = sql.id(`another_${randomUUID()}`)
      const { schema } = (await tx.one(sql<{ schema: string }>`select current_schema() as schema`)) ?? { schema: '' }
      await tx.run(sql`create table theirs (id text)`)
      await tx.run(sql`create role ${role}`)
      await tx.run(sql`grant usage on schema ${sql.id(schema)} to ${role}`)
      await tx.run(sql`grant select, insert, update, delete on all tables in schema ${sql.id(schema)} to ${role}`)
      await tx.run(sql`revoke all on theirs from ${role}`)
      await tx.run(sql`revoke insert on sync_inbox from ${role}`)
      await tx.run(sql`revoke select, delete on quotes from ${role}`)
      await tx.run(sql`set local role ${role}`)
      // Nothing of it is to stay.
      throw new Error(rightsText(await missingRights(tx)))
    })
    await expect(asAnother).rejects.toThrow(
      /^the user of DATABASE_URL lacks rights: delete on quotes, select on quotes, insert on sync_inbox; grant /,
    )
  })
})

it('five of many missing parts or rights are named, and the others counted', () => {
  const missing = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  expect(missingText(missing)).toMatch(/^it lacks a, b, c, d, e and 2 more \(/)
  expect(rightsText(missing)).toMatch(/ lacks rights: a, b, c, d, e and 2 more; /)
  expect(missingText(missing.slice(2))).toMatch(/^it lacks c, d, e, f, g \(/)
})
