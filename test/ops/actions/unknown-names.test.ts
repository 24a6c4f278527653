import { describe, expect, it } from 'vitest'
import { runHere } from '../../app/run.ts'
import { testDatabases } from '../../tools/databases.ts'
import { adminRigForEach } from '../http/rig.ts'

const ID = 'bbbbbbbb-0000-4000-8000-000000000001'
const ACCOUNTS = 'unknown account "zz"; known: default'
const TABLES = 'unknown table "lane"; did you mean lanes?'
const DESTINATIONS = 'unknown destination "zz"; known: ams, mapped'

describe.each(testDatabases)('unknown names, on $name', (database) => {
  const rig = adminRigForEach(database)

  it('are rejected by commands, with the known names', async () => {
    for (const [problem, ...args] of [
      [DESTINATIONS, 'outbox', 'list', '--destination', 'zz'],
      [ACCOUNTS, 'outbox', 'list', '--account', 'zz', '--json'],
      [`${DESTINATIONS}\n${ACCOUNTS}`, 'outbox', 'list', '--destination', 'zz', '--account', 'zz'],
      [DESTINATIONS, 'outbox', 'retry', '--destination', 'zz'],
      [ACCOUNTS, 'outbox', 'skip', '--account', 'zz'],
      [ACCOUNTS, 'inbox', 'list', '--account', 'zz'],
      [ACCOUNTS, 'inbox', 'list', '--account', 'zz', '--rejected'],
      [ACCOUNTS, 'inbox', 'replay', '--state', 'dead', '--account', 'zz'],
      [ACCOUNTS, 'inbox', 'skip', '--state', 'dead', '--account', 'zz'],
      [DESTINATIONS, 'destination', 'mappings', 'zz'],
      [ACCOUNTS, 'destination', 'mappings', 'mapped', '--account', 'zz'],
      [ACCOUNTS, 'reconcile', 'list', '--account', 'zz'],
      [TABLES, 'changes', 'list', '--entity', 'lane'],
    ] as const) {
      expect(await runHere(args, rig.env), args.join(' ')).toEqual({ code: 2, out: '', err: `${problem}\n` })
    }
    expect(await rig.notes()).toEqual([])
  })

  it('are rejected by the admin routes', async () => {
    for (const [method, path, detail, body] of [
      ['GET', '/outbox?destination=zz', DESTINATIONS],
      ['GET', '/outbox?account=zz', ACCOUNTS],
      ['POST', '/outbox/retry', DESTINATIONS, { destination: 'zz' }],
      ['POST', '/outbox/skip', ACCOUNTS, { account: 'zz' }],
      ['GET', '/inbox?account=zz', ACCOUNTS],
      ['POST', '/inbox/replay', ACCOUNTS, { state: 'dead', account: 'zz' }],
      ['POST', '/inbox/skip', ACCOUNTS, { state: 'dead', account: 'zz' }],
      ['GET', '/rejected?account=zz', ACCOUNTS],
      ['GET', '/destinations/zz/mappings', DESTINATIONS],
      ['GET', '/destinations/mapped/mappings?account=zz', ACCOUNTS],
      ['GET', '/reconcile-runs?account=zz', ACCOUNTS],
      ['GET', '/changes?entity=lane', TABLES],
      ['GET', '/rows/lane', TABLES],
    ] as const) {
      expect(await rig.ask(method, path, { body }), `${method} ${path}`).toMatchObject({ status: 404, json: { detail } })
    }
    expect(await rig.notes()).toEqual([])
  })

  it('are not names that only the settings or only the database have', async () => {
    await rig.ask('POST', '/destinations/mapped/mappings', { body: { rows: [{ submission_id: ID, client: 'C-1' }] } })
    await rig.db.write('test', (tx) => tx.sql.deleteFrom('sync_destinations').where('destination', '=', 'mapped').execute())
    const { CONFIG_FILE: _, ...bare } = rig.env
    const env = { ...bare, ACCOUNT: 'later' }
    for (const args of [
      ['outbox', 'list', '--destination', 'ams', '--account', 'default'],
      ['outbox', 'list', '--account', 'later'],
      ['inbox', 'list', '--account', 'default'],
      ['destination', 'mappings', 'ams'],
    ]) {
      expect(await runHere(args, env), args.join(' ')).toMatchObject({ code: 0, err: '' })
    }
    expect((await runHere(['destination', 'mappings', 'mapped'], env)).out).toContain('C-1')
  })
})
