import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { json, runHere } from '../app/run.ts'
import { accountEnv, databaseEnv, startServe } from '../e2e/serve.ts'
import { onSqlite } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'

interface Account {
  readonly credentials: readonly { readonly client_id: string; readonly last_token_at: string | null }[]
}

it.each(onSqlite)('`serve` and `sync` record when a credential got its last token, on $name', async (database) => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 1, autoStart: false }))
  const opened = await closedAtEnd(database.open())
  const env = { ...accountEnv(sandbox), ...databaseEnv(opened.config), POLL_ACTIVE: '1s' }
  const last = async () => json<{ items: Account[] }>(await runHere(['account', 'list', '--json'], env)).items[0]?.credentials[0]
  const began = Date.now()
  const ids = sandbox.submissionIds('default')
  const id = sandbox.account('default').credentials[0]?.clientId

  const serve = await startServe(env)
  onTestFinished(() => serve.kill())
  await runHere(['track', ...ids], env)
  const reads = opened.db.read.sql.selectFrom('sync_reads').select('read').where('last_read_at', 'is not', null)
  await until('something is read', async () => (await reads.execute()).length > 0)
  expect(await serve.stop()).toBe(0)
  const byServe = await last()
  expect(byServe).toMatchObject({ client_id: id, last_token_at: expect.any(String) })
  expect(Date.parse(byServe?.last_token_at ?? '')).toBeGreaterThanOrEqual(began - 1)

  expect(await runHere(['sync', ...ids], env)).toMatchObject({ code: 0 })
  const bySync = await last()
  expect(Date.parse(bySync?.last_token_at ?? '')).toBeGreaterThan(Date.parse(byServe?.last_token_at ?? ''))
})
