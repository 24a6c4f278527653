import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { startServing } from '../../src/app/serving.ts'
import { loadConfig } from '../../src/config/config.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { logEnds } from '../../src/store/changes/log-info.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { onSqlite } from '../tools/databases.ts'
import { applyAll } from '../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

it.each(onSqlite)('a start reports where the change log ends after a set-back, and continues behind it, on $name', async ({ open }) => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const { db, config } = await closedAtEnd(open())
  await applyAll(db, [observedEvent('default', uuid(9, 1), wireEvent(1))])
  const before = await logEnds(db.read)
  await db.write('test', (tx) => tx.run(sql`update mirror_info set last_seq = 1`))
  const written: string[] = []
  const env = { ...accountEnv(sandbox), ...databaseEnv(config), PORT: '0', OPS_PORT: '0' }
  const logDestination = { write: (line: string) => void written.push(line) }
  const serving = await startServing(async () => loadConfig(env), { role: 'receive', overrides: { logDestination } })
  onTestFinished(() => serving.stop())
  expect(await logEnds(db.read)).toEqual(before)
  expect(written.join('')).toContain(`mirror_info.last_seq was set to 1, and the newest change is ${before.last_seq}; corrected`)
})
