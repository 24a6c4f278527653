import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { COMPLETENESS_SCOPE } from '../../src/ops/status/completeness.ts'
import type { Status } from '../../src/ops/status/status.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { databaseEnv, startServe } from '../e2e/serve.ts'
import { onSqlite } from '../tools/databases.ts'
import { newFolder } from '../tools/new-folder.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { writeSettings } from '../tools/settings-file.ts'
import { until } from '../tools/until.ts'
import { json, runHere } from './run.ts'

const ACCOUNT = 'default'
const PATHS = ['/broker/submissions', '/broker/policies/{policy_id}', '/broker/no-such-list']

it.each(onSqlite)('a served mirror on $name finds submissions that it was not given, and says how complete it is', async (database) => {
  const folder = newFolder()
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false, lists: true }))
  const opened = await closedAtEnd(database.open())
  const [named = '', unnamed = ''] = [sandbox.addSubmission(ACCOUNT), sandbox.addSubmission(ACCOUNT)]
  sandbox.addEvent(ACCOUNT, unnamed, { type: 'market_attached' }, { quiet: true })

  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const account = {
    name: ACCOUNT,
    base_url: sandbox.baseUrl,
    webhook_secrets: [webhookSecret],
    discovery: { paths: PATHS },
    client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })),
  }
  writeSettings(join(folder, 'mirror.yaml'), { accounts: [account] })
  writeFileSync(join(folder, 'ids.csv'), `"Insured";"submission_id"\r\n"Bakery; North";"${named.toUpperCase()}"\r\n`)
  const env = { ...databaseEnv(opened.config), CONFIG_FILE: join(folder, 'mirror.yaml') }

  const track = await runHere(['track', '--file', join(folder, 'ids.csv'), '--account', ACCOUNT], env)
  expect(track).toEqual({ code: 0, out: '1 new submission tracked in account default; 0 already tracked\n', err: '' })
  const serve = await startServe(env)
  onTestFinished(() => serve.kill())
  const { sql } = opened.db.read
  const rows = await until('both are read', async () => {
    const found = await sql.selectFrom('completeness').selectAll().orderBy('tracked_at').execute()
    const isRead = found.every((row) => row.state_read_at !== null && row.events_read_at !== null && row.thread_read_at !== null)
    return found.length === 2 && isRead && found
  })
  expect(rows).toMatchObject([
    { submission_id: named, tracked_via: 'command', event_count: 0 },
    { submission_id: unnamed, tracked_via: 'discovery:/broker/submissions', event_count: 1 },
  ])
  const logged = () => serve.lines().find((line) => line.includes('probing /broker/no-such-list for submissions'))
  expect(await until('the failing path is logged', logged)).toContain('nothing else is affected')

  const status = json<Status>(await runHere(['status', '--json'], env))
  expect(status.scope).toBe(COMPLETENESS_SCOPE)
  expect(status.accounts[0]).toMatchObject({ state: 'active', completeness: { never_read: 0, submissions: 2, reconciled: 0 } })
  expect(status.accounts[0]?.completeness?.discovery).toMatchObject([
    { path: '/broker/no-such-list', paths: 1, failing: 1, error: expect.stringContaining('404') },
    { path: '/broker/submissions', paths: 1, failing: 0, found: 1, error: null },
  ])
  expect(status.warnings).toContainEqual(expect.stringContaining('account default: probing /broker/no-such-list fails for 1 of 1 path'))
  await opened.db.write('test', (tx) =>
    tx.sql.updateTable('sync_path_reads').set({ outcome: 'limited' }).where('failures', '=', 0).execute(),
  )
  const limited = json<Status>(await runHere(['status', '--json'], env))
  expect(limited.warnings).toContainEqual(expect.stringContaining('probing /broker/submissions returns more submissions than one answer'))
  const shown = await runHere(['status'], env)
  expect(shown.out).toContain(COMPLETENESS_SCOPE)
  expect(shown.out).toMatch(/default +\/broker\/submissions +1 +0 +\d+ s ago +1\n/)

  const metrics = await (await fetch(`${serve.ops}/metrics`)).text()
  expect(metrics).toContain('submission_mirror_discovered_submissions_total{account="default"} 1')
  expect(metrics).toContain('submission_mirror_discovery_failing{account="default"} 1')
  expect(await serve.stop()).toBe(0)
  expect(sandbox.activity.writes).toEqual([])
})
