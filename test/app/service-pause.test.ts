import { expect, it, onTestFinished } from 'vitest'
import type { Status } from '../../src/ops/status/status.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { accountEnv, databaseEnv, startServe } from '../e2e/serve.ts'
import { onSqlite } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { json, runHere } from './run.ts'

it.each(onSqlite)('trap 49: a pause that the service requests is shown, and outlasts a restart, on $name', async ({ open }) => {
  const sandbox = await startSandbox({ submissions: 0, autoStart: false })
  const { config, close } = await open()
  onTestFinished(async () => {
    await sandbox.close()
    await close()
  })
  const env = { ...accountEnv(sandbox), ...databaseEnv(config) }
  const id = sandbox.addSubmission('default')
  expect((await runHere(['track', id], env)).code).toBe(0)
  sandbox.faults.add({ kind: 'status', status: 429, operation: 'events', retryAfterSeconds: 3_600, count: 1 })

  const paused = 'account default waits until'
  const starts = async () => {
    const serve = await startServe(env)
    onTestFinished(() => serve.kill())
    await until('it logs the pause', () => serve.lines().some((line) => line.includes(paused)))
    return serve
  }
  const first = await starts()
  await until('the pause is shown', async () => json<Status>(await runHere(['status', '--json'], env)).accounts[0]?.pause !== null)
  const { verdict, issues, accounts } = json<Status>(await runHere(['status', '--json'], env))
  expect([verdict, issues]).toMatchObject([
    'attention',
    [{ kind: 'account_throttled', what: expect.stringContaining('429 with Retry-After') }],
  ])
  expect(accounts[0]?.pause?.reason).toBe('429 with Retry-After to GET …/events')
  expect(first.lines().filter((line) => line.includes(paused))).toHaveLength(1)
  await first.stop()

  const asked = sandbox.activity.requests.length
  const second = await starts()
  expect(await second.stop()).toBe(0)
  expect(sandbox.activity.requests).toHaveLength(asked)
})
