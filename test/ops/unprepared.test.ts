import { readdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { runHere } from '../app/run.ts'
import { databaseEnv } from '../e2e/serve.ts'
import { newSqlite, testDatabases } from '../tools/databases.ts'

const COMMANDS = [
  ['status', '--json'],
  ['account', 'list'],
  ['inbox', 'list'],
]

it.each(testDatabases)('commands that only look say on $name that the database has no tables, and exit with 2', async ({ open }) => {
  const { config, close } = await open({ migrated: false })
  onTestFinished(close)
  for (const command of COMMANDS) {
    const ended = await runHere(command, databaseEnv(config))
    expect(ended).toMatchObject({ code: 2, out: '' })
    expect(ended.err).toMatch(/^The database has none of our tables yet; run `submission-mirror migrate`, .*\n$/)
  }
})

it('says the same of a SQLite file with nothing in it, and leaves nothing beside it', async () => {
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  writeFileSync(config.path, '')
  expect(await runHere(['status'], databaseEnv(config))).toMatchObject({ code: 2, out: '' })
  expect(readdirSync(dirname(config.path))).toEqual(['mirror.db'])
})

it('migrate leaves nothing beside the SQLite file when nobody else has it open', async () => {
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
