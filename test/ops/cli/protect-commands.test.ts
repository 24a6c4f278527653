import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../../src/sandbox/http/server.ts'
import { listActions } from '../../../src/store/operators/actions.ts'
import { json, runHere } from '../../app/run.ts'
import { accountEnv, databaseEnv } from '../../e2e/serve.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedMessage, uuid, wireMessage } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const SSN = '123-45-6789'
const [ID, MESSAGE] = [uuid(9, 1), uuid(2, 1)]
const KEYS = ['old', 'new'].map((id, n) => `${id}:${Buffer.alloc(32, n + 1).toString('base64')}`)

it.each(testDatabases)('protect says how far it is, rotates keys, and shows a row while it notes who asked, on $name', async (database) => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const { db, config } = await closedAtEnd(database.open())
  db.protection.use({ mode: 'keep', keys: [], taxIdFields: [] })
  onTestFinished(() => db.protection.use({ mode: 'drop', keys: [], taxIdFields: [] }))
  await applyAll(db, [observedMessage('default', ID, wireMessage(1, { ssn: SSN }))])
  const env = { ...accountEnv(sandbox), ...databaseEnv(config), PROTECT: 'encrypt', PROTECT_KEYS: KEYS[0] ?? '' }
  const key = JSON.stringify([ID, MESSAGE])
  const shown = (settings: typeof env) => runHere(['protect', 'show', 'thread_messages', key], settings)

  expect(json(await runHere(['protect', 'status', '--json'], env))).toMatchObject({ mode: 'encrypt', key_id: 'old', done: false })
  expect((await runHere(['protect', 'rotate'], env)).out).toMatch(/^1 rows rewritten/)
  expect(json(await runHere(['protect', 'status', '--json'], env))).toMatchObject({ done: true, rows_rewritten: 1 })
  const [stored] = await db.read.sql.selectFrom('thread_messages').select('raw').execute()
  expect(stored?.raw).toContain('enc:old:')
  expect((await shown(env)).out).toContain(SSN)

  const turned = { ...env, PROTECT_KEYS: [...KEYS].reverse().join(' ') }
  await runHere(['protect', 'rotate'], turned)
  expect((await shown({ ...env, PROTECT_KEYS: KEYS[0] ?? '' })).out).not.toContain(SSN)
  expect((await shown({ ...env, PROTECT_KEYS: KEYS[1] ?? '' })).out).toContain(SSN)

  const noted = await listActions(db.read, { action: 'protect.show' }, 10)
  expect(noted).toHaveLength(3)
  expect(noted[0]).toMatchObject({ who: 'command', target: 'default', detail: { table: 'thread_messages', key }, outcome: 'done' })
  expect((await runHere(['protect', 'show', 'nothing', key], env)).code).toBe(2)
  const { PROTECT_KEYS: _, ...without } = env
  expect((await runHere(['protect', 'status'], without)).err).toContain('PROTECT_KEYS')
})
