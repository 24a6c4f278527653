import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entities } from '../../src/model/entities.ts'
import type { Query } from '../../src/store/engine/db.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'

/**
 * The data dictionary promises to name every public column, with its type on both databases, and to give SQL that runs. Here it is
 * held against the databases that the migrations make.
 */

/** The types that each kind of column has; Postgres's as its catalogue spells them. */
const types: Readonly<Record<string, Readonly<Record<'sqlite' | 'postgres', string>>>> = {
  text: { sqlite: 'text', postgres: 'text' },
  int: { sqlite: 'integer', postgres: 'bigint' },
  real: { sqlite: 'real', postgres: 'double precision' },
  cents: { sqlite: 'integer', postgres: 'bigint' },
  bool: { sqlite: 'integer', postgres: 'boolean' },
  json: { sqlite: 'text', postgres: 'jsonb' },
  time: { sqlite: 'text', postgres: 'timestamp with time zone' },
  date: { sqlite: 'text', postgres: 'date' },
  raw: { sqlite: 'text', postgres: 'json' },
}

const text = await readFile(new URL('../../migrations/README.md', import.meta.url), 'utf8')

/** Table or view -> column -> kind, in the order in which they stand. */
const documented = new Map(
  text
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const rows = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| (?:–|business|personal|free) \|/gm)]
      return [section.split('\n', 1)[0] ?? '', new Map(rows.map(([, column = '', kind = '']) => [column, kind]))] as const
    }),
)

/** @returns the statements of the examples that are meant for a database. */
function examplesFor(name: 'sqlite' | 'postgres'): string[] {
  const other = name === 'sqlite' ? '-- Postgres' : '-- SQLite'
  return [...text.matchAll(/```sql\n(.*?)```/gs)]
    .flatMap(([, block = '']) => block.split(/(?=^-- (?:SQLite|Postgres)$)/m))
    .filter((part) => part.trim() !== '' && !part.startsWith(other))
    .map((part) => part.trim().replace(/;$/, ''))
}

interface Column {
  readonly relation: string
  readonly name: string
  readonly type: string
}

async function columnsOf(query: Query): Promise<Column[]> {
  const found =
    query.kind === 'sqlite'
      ? sql<Column>`select m.name as relation, c.name, lower(c.type) as type from sqlite_master m join pragma_table_info(m.name) c
          where m.type in ('table', 'view') and m.name not like 'sqlite_%' order by m.name, c.cid`
      : sql<Column>`select table_name as relation, column_name as name, data_type as type from information_schema.columns
          where table_schema = current_schema() order by table_name, ordinal_position`
  return (await found.execute(query.sql)).rows
}

describe.each(testDatabases)('the data dictionary, against $name', ({ name, open }) => {
  let opened: OpenedDatabase
  let columns: readonly Column[]

  beforeAll(async () => {
    opened = await open()
    columns = await columnsOf(opened.db.read)
  })

  afterAll(() => opened.close())

  it('has a section for each public table and view, and a line for each internal table', () => {
    const relations = [...new Set(columns.map(({ relation }) => relation))]
    const isInternal = (relation: string) => relation.startsWith('sync_')
    expect([...documented.keys()].sort()).toEqual(relations.filter((relation) => !isInternal(relation)).sort())
    expect(relations.filter((relation) => isInternal(relation) && !text.includes(`| \`${relation}\` |`))).toEqual([])
  })

  it('names every column in its order, with its type', () => {
    for (const [relation, kinds] of documented) {
      const made = columns.filter((column) => column.relation === relation)
      // SQLite gives the computed columns of a view no type, or one of its own making.
      const isComputed = (type = '') => ['', 'num', 'int'].includes(type)
      const told = [...kinds].map(([column, kind], index) => {
        const type = made[index]?.type
        return [column, isComputed(type) ? type : types[kind]?.[name]]
      })
      expect(told, relation).toEqual(made.map((column) => [column.name, column.type]))
    }
  })

  it('gives SQL that runs', async () => {
    const examples = examplesFor(name)
    expect(examples.length).toBeGreaterThan(5)
    // One of them writes.
    for (const example of examples) await opened.db.write('test', (tx) => sql.raw(example).execute(tx.sql))
  })

  it('gives a list of the newest movement that begins with it, and not with the submissions in which nothing has moved', async () => {
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

  it('gives a way to a field in `raw`, also beside text that Postgres takes for none', async () => {
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

describe('the data dictionary', () => {
  it('gives the columns of the mirror the kinds that the program gives them', () => {
    for (const { table, columns } of entities) {
      const kinds = [...(documented.get(table) ?? [])].map(([column, kind]) => [column, kind === 'cents' ? 'int' : kind])
      expect(Object.fromEntries(kinds), table).toEqual(columns)
    }
  })

  it('trap 34: says that the mirror is not the full correspondence file, and whose view a direction is', () => {
    expect(text).toMatch(/not the full correspondence file/)
    expect(text).toMatch(/`direction` is the service's view/)
  })
})
