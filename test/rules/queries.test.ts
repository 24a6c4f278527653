import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import { openDemoScene } from '../tools/demo-scene.ts'
import { type Answer, queriesOf, queryDocuments, withAnswers } from '../tools/document-queries.ts'
import { applyAll } from '../tools/mirror.ts'
import { observedState, uuid, wireRequirements } from '../tools/observations.ts'

/**
 * The documents of queries in migrations/ promise queries that run on both databases, and the answers that they give. `npx vitest run
 * test/rules/queries -u` rewrites the answers. `test/readers` reads with other programs.
 */

const documents = await Promise.all(
  queryDocuments.map(async (name) => {
    const { pathname } = new URL(`../../migrations/${name}`, import.meta.url)
    return { pathname, text: await readFile(pathname, 'utf8') }
  }),
)
const text = documents.map((document) => document.text).join('')
const queries = queriesOf(text)

/** Expressions of the table of moments that may replace a literal. */
const moments = [...(text.split('<!-- moments -->')[1] ?? '').matchAll(/^\| [^|]+ \| `([^`|]+)` \| `([^`|]+)` \|$/gm)].map(
  ([, sqlite = '', postgres = '']) => ({ sqlite, postgres }),
)

/** The statement from another moment on. */
function since(statement: string, moment: string): string {
  return statement.replaceAll(/'\d{4}-[^']*Z'(?=.*-- since$)/gm, moment)
}

describe.each(testDatabases)('the questions and their queries, on $name', (database) => {
  let opened: OpenedDatabase

  beforeAll(async () => {
    opened = await openDemoScene(database)
  })

  afterAll(() => opened.close())

  async function ask(statement: string): Promise<Answer[]> {
    return await opened.db.write('queries', (tx) => tx.all(sql.raw<Answer>(statement)))
  }

  it('give the answers that follow them, none of them empty', async () => {
    expect(queries.length).toBeGreaterThan(20)
    for (const document of documents) {
      const answered = await withAnswers(document.text, async ({ statementFor, answer }) => {
        const rows = await ask(statementFor(database.name))
        if (answer !== null) expect(rows.length, statementFor(database.name)).toBeGreaterThan(0)
        return rows
      })
      await expect(answered).toMatchFileSnapshot(document.pathname)
    }
  })

  it('accept any of the times that the document offers instead', async () => {
    expect(moments).toHaveLength(7)
    const timed = queries.map(({ statementFor }) => statementFor(database.name)).filter((statement) => statement.includes('-- since'))
    expect(timed).toHaveLength(6)
    for (const { [database.name]: moment } of moments) {
      const [row] = await ask(`select ${moment} as since`)
      expect(Date.parse(String(row?.['since'])), moment).toBeLessThan(Date.now())
      for (const statement of timed) {
        const later = since(statement, moment)
        expect(later).not.toMatch(/'\d{4}-.*-- since/)
        await ask(later)
      }
    }
  })
})

describe.each(testDatabases)('some of them, on a $name of their own,', ({ name, open }) => {
  let opened: OpenedDatabase

  beforeAll(async () => {
    opened = await open()
  })

  afterAll(() => opened.close())

  const queryWith = (part: string) =>
    queries.map(({ statementFor }) => statementFor(name)).find((statement) => statement.includes(part)) ?? ''

  it('give a list of the newest movement that begins with it, and not with the submissions in which nothing has moved', async () => {
    await opened.db.write('test', (tx) =>
      tx.run(sql`insert into submissions (account, submission_id, tracked_at, tracked_via, last_activity_at) values
        ('a', 'still', '2026-11-21T10:00:00.000000Z', 'command', null),
        ('a', 'older', '2026-11-21T10:00:00.000000Z', 'webhook', '2026-11-21T11:00:00.000000Z'),
        ('a', 'newer', '2026-11-21T10:00:00.000000Z', 'webhook', '2026-11-21T12:00:00.000000Z')`),
    )
    const moved = queryWith('order by last_activity_at desc nulls last')
    const rows = await opened.db.read.all(sql.raw<{ last_activity_at: unknown }>(moved))
    expect(rows.map(({ last_activity_at }) => last_activity_at === null)).toEqual([false, false, true])
  })

  it('give a way to a field in `raw`, also of a view with text that Postgres rejects', async () => {
    const forms = ['acord_125', 'acord_126']
    const odd = { forms, insured_name: 'A first one', marketing_hint: 'wait\u0000 \ud800 \\u0000 🚚' }
    await applyAll(opened.db, [observedState('a', uuid(9, 1), wireRequirements(uuid(9, 1), null, odd), 1)])
    const [row] = await opened.db.read.all(sql.raw<Answer>(queryWith('raw')))
    expect(typeof row?.['forms'] === 'string' ? JSON.parse(row['forms']) : row?.['forms']).toEqual(forms)
  })
})
