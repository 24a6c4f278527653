import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { accountEnv, databaseEnv, startServe } from '../e2e/serve.ts'
import { newSqlite } from '../tools/databases.ts'

it('serve warns in one line of variables that nothing reads yet, and only of those that are set', async () => {
  const sandbox = await startSandbox({ submissions: 0, autoStart: false })
  onTestFinished(() => sandbox.close())
  const { config, remove } = newSqlite()
  onTestFinished(remove)
  const serve = await startServe({
    ...accountEnv(sandbox),
    ...databaseEnv(config),
    DOCUMENTS_DIR: '/d',
  })
  onTestFinished(() => serve.kill())
  expect(await serve.stop()).toBe(0)
  const warnings = serve.lines().filter((line) => line.includes('nothing in this release'))
  expect(warnings.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { level: 40, msg: expect.stringMatching(/^DOCUMENTS_DIR does nothing in this release: /) },
  ])
})
