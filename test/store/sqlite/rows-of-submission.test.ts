import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { entities } from '../../../src/model/entities.ts'
import { type OpenedDatabase, sqliteDatabase } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'

const ofSubmissions = entities.filter(({ columns, table }) => 'submission_id' in columns && table !== 'submissions')

/** Without statistics, SQLite prefers the order of the key to the index of the submission, and reads the whole account. */
describe('on SQLite, the rows of a submission', () => {
  let opened: OpenedDatabase
  const prepared: string[] = []

  beforeAll(async () => {
    const { prepare } = Database.prototype
    vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, text: string) {
      prepared.push(text)
      return prepare.call(this, text) as never
    })
    opened = await sqliteDatabase.open()
  })

  afterAll(async () => {
    await opened.close()
    vi.restoreAllMocks()
  })

  it.each(ofSubmissions)('of $table are found by account and submission', async (entity) => {
    await opened.db.read.selectWhere(entity, { account: 'acme', submission_id: uuid(9, 1) })
    const text = prepared.findLast((each) => each.startsWith('select') && each.includes(`from "${entity.table}"`))
    const { rows } = await opened.db.read.sql.executeQuery<{ detail: string }>({
      ...opened.db.read.sql.selectNoFrom([]).compile(),
      sql: `explain query plan ${text}`,
      parameters: ['acme', uuid(9, 1)],
    })
    expect(rows.map(({ detail }) => detail).join('\n')).toMatch(/SEARCH \w+ USING .*\(account=\? AND submission_id=\?/)
  })
})
