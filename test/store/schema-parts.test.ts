import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { missingParts } from '../../src/store/schema-parts.ts'
import { testDatabases } from '../tools/databases.ts'

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
    await change('alter table lanes drop column next_step')
    expect(await missingParts(db.read)).toEqual(['the column lanes.next_step', 'the view push_status'])
    await change(`drop table lanes${name === 'sqlite' ? '' : ' cascade'}`)
    const missing = await missingParts(db.read)
    expect(missing).toContain('the table lanes')
    expect(missing.filter((part) => part.includes('column'))).toEqual([])
  })
})
