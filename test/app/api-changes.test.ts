import { expect, it, onTestFinished } from 'vitest'
import type { apiChanges } from '../../src/ops/status/api-changes.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { accountEnv, databaseEnv, startServe } from '../e2e/serve.ts'
import { altered, alterJson } from '../tools/altered.ts'
import { onSqlite } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'
import { json, runHere } from './run.ts'

it.each(onSqlite)('additions of the service are recorded by `serve` and `sync`, on $name', async (database) => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 2, autoStart: false }))
  let isGrown = false
  const service = await altered(sandbox.origin, (answer) => {
    if (isGrown && answer.path.endsWith('/requirements'))
      alterJson(answer, (view) => Object.assign(view, { renewal: { of: 'secret-policy' } }))
  })
  onTestFinished(() => service.close())
  const opened = await closedAtEnd(database.open())
  const base = sandbox.baseUrl.replace(sandbox.origin, service.origin)
  const env = { ...accountEnv(sandbox), ...databaseEnv(opened.config), BROKER_API_BASE_URL: base, POLL_ACTIVE: '1s' }
  const read = async () => json<Awaited<ReturnType<typeof apiChanges>>>(await runHere(['status', '--api-changes', '--json'], env)).items

  const serve = await startServe(env)
  onTestFinished(() => serve.kill())
  sandbox.account('default').target = `${serve.receiver}/webhooks`
  const ids = sandbox.submissionIds('default')
  await runHere(['track', ...ids], env)
  const reads = opened.db.read.sql.selectFrom('sync_reads').select('read').where('id', '=', '').where('last_read_at', 'is', null)
  await until('all is read', async () => (await reads.execute()).length === 0)
  sandbox.deliver('default', '{"type":"policy.changed"}', { id: 'msg_new' })
  await sandbox.deliveries.idle()
  const settled = opened.db.read.sql.selectFrom('sync_inbox').select('state').where('state', '=', 'aside')
  await until('the delivery is set aside', () => settled.executeTakeFirst())
  // It stores its counts before it ends.
  expect(await serve.stop()).toBe(0)
  expect(await read()).toMatchObject([{ account: 'default', resource: 'delivery', path: 'type', kind: 'value', answers: 1 }])

  isGrown = true
  expect(await runHere(['sync', ...ids], env)).toMatchObject({ code: 0 })
  const found = (await read()).find(({ resource }) => resource === 'requirements')
  expect(found).toMatchObject({ path: 'renewal', kind: 'field', type: 'object', answers: ids.length })
  const shown = await runHere(['status', '--api-changes'], env)
  expect([shown.code, shown.out.includes('renewal'), shown.out.includes('secret')]).toEqual([0, true, false])
  expect(await runHere(['status', '--api-changes', '--coverage'], env)).toMatchObject({ code: 2 })
})
