import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UsageError } from '../../../src/base/errors.ts'
import type { Json } from '../../../src/model/json.ts'
import { readPostgres } from '../../../src/store/query/postgres.ts'
import { readSqlite } from '../../../src/store/query/sqlite.ts'
import { refuseUnsuitable } from '../../../src/store/query/statement.ts'
import { type OpenedDatabase, testDatabases } from '../../tools/databases.ts'
import { fillScene } from '../../tools/query-scene.ts'

const BATCH = 200

describe.each(testDatabases)('a statement of a reader on $name', ({ name, open }) => {
  let opened: OpenedDatabase
  beforeAll(async () => {
    opened = await open()
    await fillScene(opened.db)
  })
  afterAll(() => opened.close())

  /** What the process of a query does: @returns the rows, a record each, and in how many pieces they came. */
  async function ask(sql: string): Promise<{ rows: Record<string, Json>[]; pieces: number }> {
    refuseUnsuitable(sql, name)
    const { config } = opened
    const parts =
      config.kind === 'sqlite'
        ? readSqlite(config.path, sql, BATCH)
        : readPostgres({ kind: 'postgres', url: config.url.reveal(), schema: config.schema }, sql, BATCH, 30_000)
    let columns: readonly string[] = []
    const rows: Record<string, Json>[] = []
    let pieces = 0
    for await (const part of parts) {
      if ('columns' in part) columns = part.columns
      else {
        pieces++
        rows.push(...part.rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null]))))
      }
    }
    return { rows, pieces }
  }

  /** @returns why a statement is refused as the mistake of who wrote it. */
  async function refusalOf(sql: string): Promise<string> {
    const error: unknown = await ask(sql).catch((failed: unknown) => failed)
    expect(error, sql).toBeInstanceOf(UsageError)
    return (error as UsageError).problems.join()
  }

  it('returns the same values on both databases', async () => {
    const sums =
      'select count(*) as n, sum(total_cents) as cents, avg(1.5) as half, max(case when raw is null then 0 else 1 end) as has_raw from quotes'
    expect((await ask(sums)).rows).toEqual([{ n: 2, cents: 243_000, half: 1.5, has_raw: 1 }])
    const [event] = (await ask('select occurred_at, raw from market_events order by 1 limit 1')).rows
    expect(event?.['occurred_at']).toMatch(/^2026-01-05T\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(JSON.parse(event?.['raw'] as string)).toMatchObject({ type: 'market_attached' })
  })

  it('returns many rows in pieces, each row once', async () => {
    const { rows, pieces } = await ask(
      'with recursive n (i) as (select 1 union all select i + 1 from n where i < 450) select i from n order by i',
    )
    expect([rows.length, rows.at(-1), pieces]).toEqual([450, { i: 450 }, 3])
  })

  it.each([
    'values (1, 2)',
    '/* why */ explain select * from lanes',
    'WITH a AS (SELECT 1 AS n) SELECT n FROM a',
    `select '; delete from lanes; sync_inbox' as a -- sync_inbox`,
    name === 'postgres' ? `(select $$sync_inbox$$ as a) union (select e'it\\'s sync_inbox')` : 'select [account], `account` from lanes',
    name === 'postgres' ? 'show search_path' : `select name from pragma_table_info('lanes')`,
  ])('takes %s', async (sql) => {
    expect((await ask(sql)).rows.length).toBeGreaterThan(0)
  })

  it('rejects a writing statement, and writes nothing', async () => {
    const before = await ask('select count(*) as n from lanes')
    for (const [sql, what] of [
      ["insert into lanes (account) values ('x')", 'INSERT'],
      ["UPDATE lanes set account = 'x'", 'UPDATE'],
      ['delete from lanes', 'DELETE'],
      ['drop table lanes', 'DROP TABLE'],
    ] as const) {
      const words = { sqlite: 'attempt to write a readonly database', postgres: `cannot execute ${what} in a read-only transaction` }
      expect(await refusalOf(sql), sql).toBe(words[name])
    }
    const hidden = {
      sqlite: ['with a as (select 1) delete from lanes returning 1', 'readonly database'],
      postgres: ['with a as (delete from lanes returning 1) select * from a', 'data-modifying statements in WITH'],
    }[name]
    expect(await refusalOf(hidden[0] ?? '')).toContain(hidden[1])
    expect(await ask('select count(*) as n from lanes')).toEqual(before)
  })

  it('rejects a statement that may do more than read, and a text without one, before it asks the database', () => {
    for (const sql of [
      'pragma user_version = 7',
      "attach 'other.db' as other",
      "copy lanes to '/tmp/lanes'",
      'commit',
      'set transaction_read_only = off',
      'vacuum',
      '',
      '-- nothing',
      "select query_to_xml('select * from sync_inbox', true, false, '')",
      "select schema_to_xml('mirror', true, false, '')",
      "select * from ts_stat('select body from sync_inbox')",
      "select * from dblink('x', 'select 1') as t(a int)",
      "select pg_read_file('/etc/passwd')",
      "select lo_export(1, '/tmp/x')",
      "select load_extension('x')",
      "select 1 /* /* */ ' */ from sync_inbox --'",
    ])
      expect(() => refuseUnsuitable(sql, name), sql).toThrow(UsageError)
    for (const sql of ['select * from sync_inbox', 'select 1 from lanes, "sync_Inbox"', 'select * from mirror.SYNC_reads'])
      expect(() => refuseUnsuitable(sql, name), sql).toThrow(/^sync_\w+ is internal; the public tables and views/i)
  })

  it('rejects an internal table with a quoted or escaped name', () => {
    const hidden = {
      sqlite: ["select * from 'sync_inbox'", 'select * from `sync_inbox`', 'select * from [SYNC_inbox]', "select * from main.'Sync_inbox'"],
      postgres: [String.raw`select * from U&"\0073ync_inbox"`, `select * from u&"!0073ync_inbox" uescape '!'`],
    }
    for (const sql of hidden[name]) expect(() => refuseUnsuitable(sql, name), sql).toThrow(UsageError)
    expect(() => refuseUnsuitable("select 1 from lanes where account = 'a sync_inbox'", name)).not.toThrow()
  })

  it.each([
    ['selct 1', 'near "selct": syntax error', 'syntax error at or near "selct"'],
    ['select * form lanes', 'near "form": syntax error', 'syntax error at or near "form"'],
    ['select color from lanes', 'no such column: color', 'column "color" does not exist'],
    ['select * from lane', 'no such table: lane; did you mean lanes?', 'relation "lane" does not exist; did you mean lanes?'],
    [
      'select 1; select 2',
      'The supplied SQL string contains more than one statement',
      'cannot insert multiple commands into a prepared statement',
    ],
  ])('reports for %s the message of the database', async (sql, sqlite, postgres) => {
    expect(await refusalOf(sql)).toBe({ sqlite, postgres }[name])
  })
})
