import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { testDatabases } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'

const text = await readFile(new URL('../../README.md', import.meta.url), 'utf8')

/** Each query of README.md with the headings of its answer. */
const queries = [...text.matchAll(/```sql\n([^`]*)```\n\n```text\n(.*)\n/g)].map(([, query = '', headings = '']) => ({
  query: query.trim().replace(/;$/, ''),
  headings: headings.trim().split(/\s+/),
}))

describe.each(testDatabases)('the queries of README.md on $name', (database) => {
  it('are understood, and answer in the columns that are shown', async () => {
    expect(queries).toHaveLength(3)
    const opened = await closedAtEnd(database.open())
    for (const { query, headings } of queries) {
      expect(await opened.db.read.all(sql.raw(query)), query).toEqual([])
      const one = `select ${headings.map((name) => `shown.${name}`).join(', ')} from (${query}) as shown`
      expect(await opened.db.read.all(sql.raw(one)), query).toEqual([])
    }
  })
})
