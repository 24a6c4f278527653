import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ensureAccounts, stopAccount } from '../../../src/store/reads/accounts.ts'
import { json, runHere } from '../../app/run.ts'
import { databaseEnv, type Environment } from '../../e2e/serve.ts'
import { newSqlite, type OpenedDatabase, onSqlite } from '../../tools/databases.ts'
import { writeSettings } from '../../tools/settings-file.ts'

const account = (name: string) => ({
  name,
  base_url: 'https://service.example/api/v1',
  client_credentials: [{ id: `bac_${name}`, secret: `a-secret-of-${name}` }],
  webhook_secrets: [`whsec_${Buffer.alloc(32, name).toString('base64')}`],
})

describe.each(onSqlite)('accounts of settings and database on $name', (database) => {
  let opened: OpenedDatabase
  let env: Environment
  const file = newSqlite()
  const configure = (...names: string[]): Environment => {
    const path = `${file.config.path}.yaml`
    writeSettings(path, { accounts: names.map(account) })
    return { ...env, CONFIG_FILE: path }
  }
  const states = async (given: Environment) =>
    json<{ items: { account: string; state: string }[] }>(await runHere(['account', 'list', '--json'], given)).items.map((row) => [
      row.account,
      row.state,
    ])

  beforeEach(async () => {
    opened = await database.open()
    env = databaseEnv(opened.config)
    await ensureAccounts(opened.db, ['old', 'kept'])
    await stopAccount(opened.db, 'old', 'suspended', 'refused', 1_000)
  })
  afterEach(() => opened.close())
  afterAll(() => file.remove())

  it('are joined: one that left the settings is not configured, one that was never served is not started', async () => {
    const both = configure('kept', 'new')
    expect(await states(both)).toEqual([
      ['kept', 'active'],
      ['new', 'not started'],
      ['old', 'not configured'],
    ])
    expect((await runHere(['account', 'list'], both)).out).toMatch(/^new +not started\b/m)
    const status = json<{ accounts: { account: string; state: string }[]; warnings: string[] }>(await runHere(['status', '--json'], both))
    expect(status.accounts.map((row) => [row.account, row.state])).toEqual(await states(both))
    expect(status.warnings).toEqual([
      expect.stringMatching(/^account new is not started: /),
      expect.stringMatching(/^account old is not configured: /),
    ])
    expect((await runHere(['status'], both)).out).toMatch(/^old +not configured +0 /m)
    for (const name of ['new', 'old']) {
      expect(await runHere(['account', 'resume', name], both)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(name) })
    }
  })

  it('have a limit of requests only where the settings hold them', async () => {
    const limits = async (given: Environment) =>
      json<{ accounts: { account: string; limit_rps: number | null }[] }>(await runHere(['status', '--json'], given)).accounts.map(
        (row) => [row.account, row.limit_rps],
      )
    expect(await limits(configure('kept'))).toEqual([
      ['kept', 10],
      ['old', null],
    ])
    expect(await limits(env)).toEqual([
      ['kept', null],
      ['old', null],
    ])
    expect((await runHere(['status'], env)).out).toMatch(/^kept +active +0 +0 +0$/m)
  })

  it('have one run each, with one report each', async () => {
    const ended = await runHere(['reconcile', '--report', 'proof.html'], configure('kept', 'new'))
    expect(ended).toMatchObject({
      code: 2,
      err: '--report: each account has its own run and report; choose one with --account\n',
    })
  })

  it('are those of the database where the settings hold no account', async () => {
    expect(await states(env)).toEqual([
      ['kept', 'active'],
      ['old', 'suspended'],
    ])
  })
})
