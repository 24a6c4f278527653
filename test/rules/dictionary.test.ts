import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entities, entityNamed } from '../../src/model/entities.ts'
import type { Query } from '../../src/store/engine/db.ts'
import { internalTables, relations } from '../../src/store/schema/tables.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import { DICTIONARY, dictionary } from '../tools/dictionary.ts'
import { closedAtEnd } from '../tools/servers.ts'

/**
 * The data dictionary promises to name every public column, with its type on both databases. Here it is held
 * against the databases that the migrations make.
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
  bytes: { sqlite: 'blob', postgres: 'bytea' },
}

const text = await readFile(DICTIONARY, 'utf8')

/** Table or view -> column -> kind, in the order in which they stand. */
const documented = new Map(
  text
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const rows = [...section.matchAll(/^\| `(\w+)` \| (\w+) \| .* \| (?:–|business|personal|free|document|tax id) \|$/gm)]
      return [section.split('\n', 1)[0] ?? '', new Map(rows.map(([, column = '', kind = '']) => [column, kind]))] as const
    }),
)

interface Column {
  readonly relation: string
  readonly name: string
  readonly type: string
  readonly mayBeNull: boolean
}

async function columnsOf(query: Query): Promise<Column[]> {
  const found =
    query.kind === 'sqlite'
      ? sql<Column>`select m.name as relation, c.name, lower(c.type) as type, not (c."notnull" or c.pk) as mayBeNull from sqlite_master m join pragma_table_info(m.name) c
          where m.type in ('table', 'view') and m.name not like 'sqlite_%' order by m.name, c.cid`
      : sql<Column>`select table_name as relation, column_name as name, data_type as type, is_nullable = 'YES' as "mayBeNull" from information_schema.columns
          where table_schema = current_schema() order by table_name, ordinal_position`
  return await query.all(found)
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
      const fromRows = [...kinds].map(([column, kind], index) => {
        const type = made[index]?.type
        return [column, isComputed(type) ? type : types[kind]?.[name]]
      })
      expect(fromRows, relation).toEqual(made.map((column) => [column.name, column.type]))
    }
  })
})

describe.each(testDatabases)('a descriptor of a table outside the mirror, against $name', ({ name, open }) => {
  it('has the columns of the database, of the same types, and null where the database allows it', async () => {
    const { db } = await closedAtEnd(open())
    const columns = await columnsOf(db.read)
    const tables = [...relations, ...internalTables].filter(({ type, name }) => type === 'table' && entityNamed(name) === null)
    const lineOf = (table: string, column: string, type: string | undefined, mayBeNull: boolean) =>
      `${table}.${column} ${type}${mayBeNull ? '' : ' not null'}`
    const described = tables.flatMap((table) =>
      Object.entries(table.columns).map(([column, { kind, isNullable }]) =>
        lineOf(table.name, column, types[kind]?.[name], isNullable === true),
      ),
    )
    const made = columns.filter(({ relation }) => tables.some((table) => table.name === relation))
    expect(described.sort()).toEqual(made.map((one) => lineOf(one.relation, one.name, one.type, Boolean(one.mayBeNull))).sort())
  })
})

describe('the data dictionary', () => {
  it('is what `node test/tools/dictionary.ts` makes of the descriptions', () => {
    expect(text === dictionary(text), 'run `node test/tools/dictionary.ts`').toBe(true)
  })

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
