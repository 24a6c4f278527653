import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { json, run, runHere } from '../../app/run.ts'
import { databaseEnv, type Environment, startServe } from '../../e2e/serve.ts'
import { compiledEnv } from '../../tools/compile-cache.ts'
import { newSqlite, type OpenedDatabase, sqliteDatabase, type TestDatabase, testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { programPath } from '../../tools/program.ts'
import { fillScene } from '../../tools/query-scene.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const BAKERY = uuid(9, 1)
const ENDLESS = {
  sqlite: 'with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n',
  postgres: 'select pg_sleep(120)',
}
const THOUSANDS = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500) select i from n'

async function start(args: readonly string[], env: Environment) {
  return spawn(process.execPath, [programPath('main'), 'query', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...compiledEnv(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function filled(database: TestDatabase) {
  let opened: OpenedDatabase
  beforeAll(async () => {
    opened = await database.open()
    await ensureAccounts(opened.db, ['acme'])
    await fillScene(opened.db)
  })
  afterAll(() => opened.close())
  const env = () => databaseEnv(opened.config)
  return { env, query: (...args: string[]) => runHere(['query', ...args], env()) }
}

/** test/store/query tests which statements are allowed, and their results. */
describe.each(testDatabases)('query on $name', (database) => {
  const { env, query } = filled(database)

  it('shows an aligned table, with every selected column', async () => {
    const { out, err, code } = await query(
      `select quote_id, total_cents, premium_display, null as none from quotes -- a comment;\n order by total_cents;`,
    )
    expect({ err, code }).toEqual({ err: '', code: 0 })
    expect(out).toBe(
      [
        '2 rows',
        'quote_id                              total_cents  premium_display  none',
        `${uuid(7, 2)}       118000  $1180               -`,
        `${uuid(7, 1)}       125000  $1250               -`,
        '',
      ].join('\n'),
    )
    expect((await query("select quote_id from quotes where lane_id = 'x'")).out).toBe('No rows (quote_id).\n')
  })

  it('gives the same JSON on both databases, through views too', async () => {
    const columns = 'submission_id, lane_id, is_revision, lines, total_cents, bound'
    const rows = json(await query(`select ${columns} from quote_board order by total_cents limit 1`, '--json'))
    expect(rows).toEqual([
      { submission_id: BAKERY, lane_id: uuid(3, 1), is_revision: true, lines: ['general_liability'], total_cents: 118_000, bound: false },
    ])
    expect(await query('select account from lanes where 1 = 0', '--json')).toEqual({ code: 0, out: '[]\n', err: '' })
    const twice = await query('select account, account from lanes', '--json')
    expect(twice).toEqual({ code: 2, out: '', err: 'two columns have the name account; rename one with `as`\n' })
  })

  it('rejects writing and invalid statements with exit code 2', async () => {
    const words = { sqlite: 'attempt to write a readonly database', postgres: 'cannot execute DELETE in a read-only transaction' }
    expect(await query('delete from lanes')).toEqual({ code: 2, out: '', err: `${words[database.name]}\n` })
    expect(await query('select * from sync_inbox')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/^sync_inbox is internal; /),
    })
  })

  it.each([
    ['submission', /did you mean submissions\?\n$/],
    ['market_event', /did you mean market_events\?\n$/],
    ['Quote_Bord', /did you mean quote_board\?\n$/],
    ['offers', /did you mean source_offers\?\n$/],
    ['policyholders_of_last_year', /; migrations\/README\.md describes all tables and views\n$/],
  ])('names the tables that %s may be meant for', async (table, meant) => {
    expect(await query(`select * from ${table}`)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(meant) })
  })

  it('reports a failure at run time in one sentence, with exit code 1', async () => {
    const fails = { sqlite: `select json_extract('{', '$') from lanes`, postgres: 'select 1 / (total_cents - total_cents) from quotes' }
    const words = { sqlite: 'malformed JSON', postgres: 'division by zero' }
    expect(await query(fails[database.name])).toEqual({ code: 1, out: '', err: `${words[database.name]}\n` })
  })

  it('is stopped after --timeout, and when the program is asked to stop', async () => {
    const late = await query(ENDLESS[database.name], '--timeout', '1')
    expect(late).toEqual({ code: 1, out: '', err: 'the query was stopped after 1 s. Narrow it, or raise --timeout\n' })
    const stopping = new AbortController()
    const stopped = runHere(['query', ENDLESS[database.name]], env(), { signal: stopping.signal })
    stopping.abort(new Error('stopped by a test'))
    expect((await stopped).code).toBe(1)
    expect((await query('select 1', '--timeout', '0', '--limit', 'x')).err).toBe(
      '--limit: "x" is not a number from 1 to 100000000\n--timeout: "0" is not a number from 1 to 86400\n',
    )
  })

  it('says of a database without tables how to make them', async () => {
    const empty = await closedAtEnd(database.open({ migrated: false }))
    const { code, err } = await runHere(['query', 'select 1'], databaseEnv(empty.config))
    expect(code).toBe(2)
    expect(err).toMatch(/^The database has no tables of submission-mirror yet; run `submission-mirror migrate`/)
  })
})

describe('query', () => {
  const { env, query } = filled(sqliteDatabase)

  it('gives CSV: text in quotes and as the table has it, null empty', async () => {
    const { out, err } = await query(`select 'it''s "a"' as a, '=1+1' as b, null as c, 7 as d, lines from quotes limit 1`, '--csv')
    expect({ out, err }).toEqual({ err: '', out: '"a","b","c","d","lines"\r\n"it\'s ""a""","=1+1",,7,"[""general_liability""]"\r\n' })
    const twice = await query('select 1 as a, 2 as a', '--csv')
    expect(twice.out).toBe('"a","a"\r\n1,2\r\n')
  })

  it('shows 1,000 rows of a table and says that there are more, and all of them as CSV and JSON', async () => {
    const shown = await query(THOUSANDS)
    expect(shown.out.split('\n')).toHaveLength(1_003)
    expect(shown).toMatchObject({ code: 0, err: 'more than 1000 rows match; raise --limit\n' })
    expect(json(await query(THOUSANDS, '--json'))).toHaveLength(2_500)
    expect((await query(THOUSANDS, '--csv')).out.trimEnd().split('\r\n')).toHaveLength(2_501)
    const few = await query(THOUSANDS, '--json', '--limit', '250')
    expect(json(few)).toHaveLength(250)
    expect(few.err).toMatch(/^more than 250 rows/)
    expect(await query(THOUSANDS, '--json', '--limit', '2500')).toMatchObject({ code: 0, err: '' })
  })

  it('reads the statement from standard input, in a process as in the container', async () => {
    const child = await start(['-', '--csv'], env())
    child.stdin.end('select count(*) as n\nfrom lanes;\n')
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    expect({ out, err, code: child.exitCode }).toEqual({ out: '"n"\r\n2\r\n', err: '', code: 0 })
  })

  it('answers while serve runs', async () => {
    const own = await closedAtEnd(sqliteDatabase.open())
    const settings = databaseEnv(own.config)
    const serve = await startServe({
      ...settings,
      BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
      BROKER_API_CLIENT_ID: 'bac_test',
      BROKER_API_CLIENT_SECRET: 'bas_test',
      WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    })
    onTestFinished(() => serve.kill())
    const answered = await run(['query', 'select schema_version > 0 as ok from mirror_info', '--json'], settings)
    expect(answered).toMatchObject({ code: 0, err: '' })
    expect(Number(json<{ ok: number | boolean }[]>(answered)[0]?.ok)).toBe(1)
    expect(await serve.stop()).toBe(0)
  })

  it('says where no database is', async () => {
    const { config, remove } = newSqlite()
    onTestFinished(remove)
    expect((await runHere(['query', 'select 1'], databaseEnv(config))).err).toMatch(/^there is no database at /)
    const away = await runHere(['query', 'select 1'], { DATABASE_URL: 'postgres://mirror:secret@127.0.0.1:9/mirror' })
    expect(away.code).toBe(1)
    expect(away.err).toMatch(/^.*ECONNREFUSED.*\n$/)
  })

  it('is stopped after --timeout on SQLite when the program was killed', async () => {
    const { config, remove } = newSqlite()
    onTestFinished(remove)
    await runHere(['migrate'], databaseEnv(config))
    const program = await start([ENDLESS.sqlite, '--json', '--timeout', '2'], databaseEnv(config))
    expect(String((await once(program.stdout, 'data'))[0])).toBe('[')
    program.kill('SIGKILL')
    // Its standard error is also that of the query's process, and ends with the later of the two.
    expect(await text(program.stderr)).toBe('')
  })

  it('changes no byte of a SQLite file', async () => {
    const { config, remove } = newSqlite()
    onTestFinished(remove)
    await runHere(['migrate'], databaseEnv(config))
    const before = readFileSync(config.path)
    expect((await runHere(['query', 'select count(*) from lanes'], databaseEnv(config))).code).toBe(0)
    expect(readFileSync(config.path).equals(before)).toBe(true)
    writeFileSync(config.path, 'no database')
    expect((await runHere(['query', 'select 1'], databaseEnv(config))).err).toMatch(/is damaged or not an SQLite database/)
  })
})
