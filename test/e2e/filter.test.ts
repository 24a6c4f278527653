import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { runHere } from '../app/run.ts'
import { hook } from '../config/support.ts'
import { startReceiver } from '../push/receiver.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { newFolder } from '../tools/new-folder.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { writeSettings } from '../tools/settings-file.ts'
import { until } from '../tools/until.ts'
import { databaseEnv } from './serve.ts'
import { serveHere } from './serve-here.ts'

const ACCOUNT = 'default'

it('a filtered receiver gets a lane when quoted, its changes, and one last change when no longer quoted', async () => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const opened = await closedAtEnd(sqliteDatabase.open())
  const folder = newFolder()
  const ams = await startReceiver()
  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const env = { ...databaseEnv(opened.config), CONFIG_FILE: join(folder, 'mirror.yaml'), HOOK: hook(6) }
  const configure = (filter: string) =>
    writeSettings(env.CONFIG_FILE, {
      upstream: { rps: 1_000 },
      accounts: [
        {
          name: ACCOUNT,
          default: true,
          base_url: sandbox.baseUrl,
          webhook_secrets: [webhookSecret],
          client_credentials: [{ id: credentials[0]?.clientId, secret: credentials[0]?.clientSecret ?? '' }],
        },
      ],
      destinations: [{ name: 'ams', kind: 'webhook', url: ams.url, secret: '${HOOK}', allow_private: true, backfill: true, filter }],
    })
  const command = async (...args: string[]) => await runHere(args, env)
  const listed = async () => {
    const { items } = JSON.parse((await command('destination', 'list', '--json')).out) as {
      items: { filtered: number; filter_error: string | null; behind: number }[]
    }
    return items[0]
  }

  configure('row.chip = ')
  expect(await command('doctor')).toMatchObject({
    code: 2,
    err: expect.stringContaining('destination ams: filter is not a JSONata expression'),
  })

  configure('entity = "lanes" and row.chip = "quoted"')
  let serve = await serveHere(env)
  onTestFinished(async () => void (await serve.stop()))
  const id = sandbox.addSubmission(ACCOUNT)
  const lane = sandbox.addLane(ACCOUNT, id).rail.submission_market_id
  const show = async (chip: 'quoted' | 'in_progress', status: string) => {
    sandbox.patchLane(ACCOUNT, id, lane, { rail: { chip, status } })
    expect((await command('sync', id)).code).toBe(0)
  }
  expect((await command('track', id)).code).toBe(0)
  await until('the lane is mirrored', async () => (await opened.db.read.sql.selectFrom('lanes').select('lane_id').execute()).length === 1)
  await until('all of it is left out', async () => (await listed())?.filtered !== 0 && (await listed())?.behind === 0)
  expect(ams.taken).toEqual([])
  await show('quoted', 'quoted')
  await until('it is sent whole', () => ams.taken.length === 1)
  await show('quoted', 'quote_revised')
  await until('it is sent', () => ams.taken.length === 2)
  await serve.stop()
  serve = await serveHere(env)
  await show('in_progress', 'in_review')
  await until('it leaves', () => ams.taken.length === 3)
  const bodies = ams.taken as unknown as { snapshot?: boolean; left_filter?: boolean; data: { operation: string; after: object } }[]
  expect(bodies).toMatchObject([
    { snapshot: true, data: { operation: 'insert', after: { lane_id: lane, chip: 'quoted', status: 'quoted' } } },
    { data: { operation: 'update', after: { status: 'quote_revised' } } },
    { left_filter: true, data: { operation: 'update', after: { chip: 'in_progress' } } },
  ])
  expect(bodies.map(({ left_filter: left }) => left ?? false)).toEqual([false, false, true])

  await serve.stop()
  configure('$number(row.market_name) > 0')
  serve = await serveHere(env)
  await show('quoted', 'quoted')
  const { filter_error: error } = await until('the filter fails', async () => ((await listed())?.filter_error ? await listed() : null))
  expect(error).toMatch(/^change \d+, \w+ \w+: filter failed: /)
  expect((await command('doctor', '--destination', 'ams')).out).toContain('fix `filter` in the settings, and reload')
  const seq = /\d+/.exec(error ?? '')?.[0] ?? ''
  expect(await command('destination', 'preview', 'ams', '--seq', seq)).toMatchObject({
    code: 1,
    out: expect.stringContaining('filter failed'),
  })
  await serve.stop()
  configure('entity = "lanes"')
  serve = await serveHere(env)
  await until('it goes on', async () => (await listed())?.filter_error === null && ams.taken.length > 3)
})
