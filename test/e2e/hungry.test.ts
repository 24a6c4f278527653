import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { run } from '../app/run.ts'
import { startReceiver } from '../push/receiver.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { newFolder } from '../tools/new-folder.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { writeSettings } from '../tools/settings-file.ts'
import { databaseEnv, startWakingServe, untilServed } from './serve.ts'

it('expressions with too much memory fail alone, and other destinations work', async () => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const opened = await closedAtEnd(sqliteDatabase.open())
  const folder = newFolder()
  const long = JSON.stringify({ results: Array.from({ length: 120 }, () => 'x'.repeat(10_000)) })
  const ams = await startReceiver((_, response) => response.end(long), { isMadeUp: true })
  const { credentials, webhookSecret } = sandbox.account('default')
  const env = { ...databaseEnv(opened.config), CONFIG_FILE: join(folder, 'mirror.yaml') }
  const destination = (name: string, body: string, more: object = {}) => ({
    name,
    kind: 'http',
    allow_private: true,
    backfill: true,
    entities: ['submissions'],
    settings: { base_url: ams.url },
    request: { url: `$url(settings.base_url, "${name}")`, body },
    ...more,
  })
  writeSettings(env.CONFIG_FILE, {
    upstream: { rps: 1_000 },
    accounts: [
      {
        name: 'default',
        default: true,
        base_url: sandbox.baseUrl,
        webhook_secrets: [webhookSecret],
        client_credentials: [{ id: credentials[0]?.clientId, secret: credentials[0]?.clientSecret ?? '' }],
      },
    ],
    destinations: [
      destination('padded', '$pad("x", 400000000)'),
      destination('doubled', '$reduce([1..27], function($a, $b) { $a & $a }, "xx")'),
      destination('batched', '[items.message_id]', {
        batch: { max: 200, result: '[1..200].{"ok": true, "error": $string($$.body)}' },
      }),
      destination('filtered', '{"id": message_id}', { filter: '$length($pad("x", 400000000)) = 1' }),
      // On a busy machine an attempt may time out while others use all processes.
      destination('fine', '{"id": message_id}', { schedule: Array.from({ length: 10 }, () => '1s') }),
    ],
  })
  const serve = await startWakingServe(env)
  onTestFinished(() => serve.kill())
  const ids = Array.from({ length: 3 }, () => sandbox.addSubmission('default'))
  for (const id of ids) expect((await run(['track', id], env)).code).toBe(0)
  const listed = async () => {
    const { out } = await run(['destination', 'list', '--json'], env)
    return (JSON.parse(out) as { items: { destination: string; filter_error: string | null }[] }).items
  }
  await untilServed(
    serve,
    'the others are sent',
    () => ids.length === new Set(ams.arrived.filter(({ url }) => url.endsWith('/fine')).map(({ body }) => body)).size,
  )
  // A very busy machine may need longer to fill the memory.
  const error = / (?:took too much memory \(limit: 64 MB\)|did not finish within \d+ ms)/
  await untilServed(serve, 'the filter fails', async () =>
    error.test((await listed()).find((each) => each.destination === 'filtered')?.filter_error ?? ''),
  )
  for (const [name, failed] of [
    ['padded', 'request.url, request.body'],
    ['doubled', 'request.url, request.body'],
    ['batched', 'batch.result'],
  ] as const) {
    const rows = opened.db.read.sql.selectFrom('sync_outbox').select('error').where('destination', '=', name)
    await untilServed(serve, `${name} fails`, async () =>
      (await rows.execute()).some(({ error: stored }) => stored?.includes(failed) && error.test(stored)),
    )
  }
  expect((await fetch(`${serve.ops}/healthz`)).status).toBe(200)
  const preview = await run(['destination', 'preview', 'padded', '--submission', ids[0] ?? ''], env)
  expect(preview).toMatchObject({ code: 1, out: expect.stringMatching(error) })
  expect(await serve.stop()).toBe(0)
})
