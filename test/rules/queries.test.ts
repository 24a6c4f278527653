import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Db } from '../../src/store/engine/db.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import { fillScene, sceneClock } from '../tools/query-scene.ts'

/**
 * migrations/queries.md promises queries that run on both databases, and the answers that they give. `npx vitest run test/rules/queries -u`
 * writes the answers anew.
 */

const DOCUMENT = new URL('../../migrations/queries.md', import.meta.url)
const text = await readFile(DOCUMENT, 'utf8')

/** The statement of a block that is meant for a database. */
function statementOf(block: string, name: 'sqlite' | 'postgres'): string {
  const other = name === 'sqlite' ? '-- Postgres' : '-- SQLite'
  const [statement = ''] = block.split(/(?=^-- (?:SQLite|Postgres)$)/m).filter((part) => part.trim() !== '' && !part.startsWith(other))
  return statement.trim().replace(/;$/, '')
}

function examplesFor(name: 'sqlite' | 'postgres'): string[] {
  return [...text.matchAll(/```sql\n(.*?)```/gs)].map(([, block = '']) => statementOf(block, name))
}

type Answer = Readonly<Record<string, unknown>>

/** Rows as a terminal shows them: the columns aligned, null as nothing. */
function shown(rows: readonly Answer[]): string {
  const columns = Object.keys(rows[0] ?? {})
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))]
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => row[index]?.length ?? 0)))
  const [head = '', ...lines] = cells.map((row) =>
    row
      .map((value, index) => value.padEnd(widths[index] ?? 0))
      .join(' | ')
      .trimEnd(),
  )
  return [head, widths.map((width) => '-'.repeat(width)).join('-+-'), ...lines].join('\n')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  // What SQLite gives of JSON that no column holds is its text.
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The document, with the answers that a database gives. */
async function answered(db: Db): Promise<string> {
  let answers = ''
  let document = ''
  let from = 0
  for (const match of text.matchAll(/```(sql|text)\n(.*?)```/gs)) {
    const [whole, language, block = ''] = match
    if (language === 'sql') {
      const { rows } = await db.write('queries', (tx) => sql.raw<Answer>(statementOf(block, db.kind)).execute(tx.sql))
      answers = shown(rows)
    }
    document += text.slice(from, match.index) + (language === 'sql' ? whole : `\`\`\`text\n${answers}\n\`\`\``)
    from = match.index + whole.length
  }
  return document + text.slice(from)
}

describe.each(testDatabases)('the questions and their queries, on $name', ({ name, open }) => {
  let opened: OpenedDatabase

  beforeAll(async () => {
    opened = await open({ clock: sceneClock })
    await fillScene(opened.db)
  })

  afterAll(() => opened.close())

  it('give the answers that stand beside them', async () => {
    expect(examplesFor(name).length).toBeGreaterThan(5)
    await expect(await answered(opened.db)).toMatchFileSnapshot(DOCUMENT.pathname)
  })
})

describe.each(testDatabases)('some of them, on a $name of their own,', ({ name, open }) => {
  let opened: OpenedDatabase

  beforeAll(async () => {
    opened = await open()
  })

  afterAll(() => opened.close())

  it('give a list of the newest movement that begins with it, and not with the submissions in which nothing has moved', async () => {
    const moved = examplesFor(name).find((example) => example.includes('order by last_event_at'))
    await opened.db.write('test', (tx) =>
      sql`insert into submissions (account, submission_id, tracked_at, tracked_via, last_event_at) values
        ('a', 'still', '2026-11-21T10:00:00.000000Z', 'command', null),
        ('a', 'older', '2026-11-21T10:00:00.000000Z', 'webhook', '2026-11-21T11:00:00.000000Z'),
        ('a', 'newer', '2026-11-21T10:00:00.000000Z', 'webhook', '2026-11-21T12:00:00.000000Z')`.execute(tx.sql),
    )
    const { rows } = await sql.raw<{ last_event_at: unknown }>(moved ?? '').execute(opened.db.read.sql)
    expect(rows.map(({ last_event_at }) => last_event_at === null)).toEqual([false, false, true])
  })

  it('give a way to a field in `raw`, also beside text that Postgres takes for none', async () => {
    const fields = examplesFor(name).find((example) => /\braw\b/.test(example)) ?? ''
    const view = { marketing_hint: 'wait\u0000 \ud800 \\u0000 🚚', forms: ['acord_125', 'acord_126'] }
    await opened.db.write('test', (tx) =>
      sql`insert into submissions (account, submission_id, tracked_at, tracked_via, raw) values
        ('a', 'odd', '2026-11-21T10:00:00.000000Z', 'command', ${JSON.stringify(view)})`.execute(tx.sql),
    )
    const { rows } = await sql.raw<Record<string, unknown>>(fields).execute(opened.db.read.sql)
    const odd = rows.find(({ submission_id }) => submission_id === 'odd')
    const [found] = Object.entries(odd ?? {}).filter(([column]) => column !== 'submission_id')
    expect(typeof found?.[1] === 'string' ? JSON.parse(found[1]) : found?.[1]).toEqual(view.forms)
  })
})
