import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { relations } from '../../src/store/schema/tables.ts'
import { type OpenedDatabase, sqliteDatabase } from '../tools/databases.ts'
import { openDemoScene } from '../tools/demo-scene.ts'
import { queriesOf, queryDocuments, shown } from '../tools/document-queries.ts'
import { installedReaders, isReading, printedBy, readEverything, sqlite333 } from '../tools/readers.ts'

const readers = [await sqlite333(), ...installedReaders()]
const read = (path: string) => readFileSync(new URL(`../../migrations/${path}`, import.meta.url), 'utf8')
const queries = queryDocuments
  .flatMap((name) => queriesOf(read(name)))
  .map(({ statementFor, answer }) => ({ statement: statementFor('sqlite'), answer }))

describe('a mirror on SQLite, read by strangers', () => {
  let opened: OpenedDatabase
  let path: string

  beforeAll(async () => {
    opened = await openDemoScene(sqliteDatabase)
    if (opened.config.kind === 'sqlite') path = opened.config.path
    await opened.db.write('test', async (tx) => {
      for (const { statement } of queries) if (!isReading(statement)) await tx.run(sql.raw(statement))
    })
    await opened.db.close()
  })

  afterAll(() => opened.close())

  it.each(readers)('opens with every table and view in $name', (reader) => {
    expect(readEverything(reader, path)).toBe(relations.length)
    expect(reader.read(path, 'select insured_name from submission_overview where quote_count = 7')).toEqual([
      { insured_name: 'Fairmont Kitchen Inc.' },
    ])
  })

  it.each(readers)('gives in $name the answers of the documents', ({ readAll }) => {
    const asked = queries.filter(({ statement }) => isReading(statement))
    expect(asked.length).toBeGreaterThan(20)
    const answers = readAll(
      path,
      asked.map(({ statement }) => statement),
    )
    for (const [n, { statement, answer }] of asked.entries()) expect(shown(answers[n] ?? []), statement).toBe(answer)
  })

  it.each(installedReaders())('prints by $name what connect.md shows', ({ name }) => {
    const language = name === 'sqlite3' ? 'sh\nsqlite3 ' : 'python\n'
    const [, code = '', answer = ''] =
      new RegExp(`\`\`\`(?:${language})([^\`]*)\`\`\`\\s*\`\`\`text\\n([^\`]*)\`\`\``).exec(read('connect.md')) ?? []
    expect(printedBy(name, name === 'sqlite3' ? `sqlite3 ${code}` : code, path)).toBe(answer.trimEnd())
  })
})
