import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { startServing } from '../../src/app/serving.ts'
import { loadConfig } from '../../src/config/config.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { testDatabases } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'

it.each(testDatabases)('a start names what is missing from the tables, and accepts deliveries, on $name', async ({ open }) => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const { db, config } = await closedAtEnd(open())
  await db.write('test', (tx) => tx.run(sql`drop view quote_board`))
  const written: string[] = []
  const env = { ...accountEnv(sandbox), ...databaseEnv(config), PORT: '0', OPS_PORT: '0' }
  const logDestination = { write: (line: string) => void written.push(line) }
  const serving = await startServing(async () => loadConfig(env), { role: 'receive', overrides: { logDestination } })
  onTestFinished(() => serving.stop())
  expect(written.join('')).toContain('the database is incomplete: it lacks the view quote_board')
  expect(serving.receiver).not.toBeNull()
})
