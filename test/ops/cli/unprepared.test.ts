import { readdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runHere } from '../../app/run.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { newSqlite, onSqlite } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ID = 'bbbbbbbb-0000-4000-8000-000000000001'
const ACCOUNT = {
  BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
  BROKER_API_CLIENT_ID: 'bac_test',
  BROKER_API_CLIENT_SECRET: 'bas_test',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}
const COMMANDS = [
  ['status', '--json'],
  ['account', 'list'],
  ['inbox', 'list'],
]

it.each(onSqlite)('commands that only look say on $name that the database has no tables, and exit with 2', async ({ open }) => {
  const { config } = await closedAtEnd(open({ migrated: false }))
  for (const command of COMMANDS) {
    const ended = await runHere(command, databaseEnv(config))
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toMatch(/^The database has no tables of submission-mirror yet; run `submission-mirror migrate`, .*\n$/)
  }
})

it('serve that may not migrate says the same, and exits with 2 too', async () => {
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  const ended = await runHere(['serve'], { ...ACCOUNT, ...databaseEnv(config), MIGRATE_ON_START: 'false', PORT: '0', OPS_PORT: '0' })
  expect(ended).toMatchObject({ code: 2, out: '' })
  expect(ended.err).toMatch(/The database has no tables of submission-mirror yet; run `submission-mirror migrate`/)
})

it('an unknown account is reported with all other problems, before a database is created', async () => {
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  const env = { ...ACCOUNT, ...databaseEnv(config) }
  const unknown = '--account: the settings have no account "nope"; known: default\n'
  const noId = '"zz" is not a submission id (a uuid)\n'
  expect(await runHere(['track', 'zz', '--account', 'nope'], env)).toEqual({ code: 2, out: '', err: `ids: ${noId}${unknown}` })
  expect(await runHere(['sync', 'zz', '--account', 'nope'], env)).toEqual({ code: 2, out: '', err: `${noId}${unknown}` })
  const future = '--since: 2999-01-01T00:00:00.000000Z is in the future. Give an earlier time\n'
  expect(await runHere(['reconcile', '--submission', 'zz', '--since', '2999-01-01', '--account', 'nope'], env)).toEqual({
    code: 2,
    out: '',
    err: `--submission: ${noId}${future}${unknown}`,
  })
  expect(await runHere(['track', ID, '--account', 'nope'], env)).toEqual({ code: 2, out: '', err: unknown })
  expect(readdirSync(dirname(config.path))).toEqual([])
})

it('says the same of an empty SQLite file, and leaves no other file', async () => {
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  writeFileSync(config.path, '')
  expect(await runHere(['status'], databaseEnv(config))).toMatchObject({ code: 2, out: '' })
  expect(readdirSync(dirname(config.path))).toEqual(['mirror.db'])
})

it('migrate leaves no other file next to the SQLite file if no other process has it open', async () => {
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  const files = () => readdirSync(dirname(config.path))
  for (const said of [/^migrated: /, /^nothing to migrate\n$/]) {
    const ended = await runHere(['migrate'], databaseEnv(config))
    expect(ended).toMatchObject({ code: 0, err: '' })
    expect(ended.out).toMatch(said)
    expect(files()).toEqual(['mirror.db'])
  }
  expect((await runHere(['status'], databaseEnv(config))).code).toBe(0)
  expect(files()).toEqual(['mirror.db'])
})
