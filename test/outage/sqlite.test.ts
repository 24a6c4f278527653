import { spawnSync } from 'node:child_process'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { accountEnv, databaseEnv, type ServeProcess, startServe } from '../e2e/serve.ts'
import { startChild } from '../tools/child.ts'
import { newSqlite, openAgain } from '../tools/databases.ts'
import { expectNothingLost, Load, readiness } from './load.ts'

const ENOUGH = 40
const LONG_TEXT = 30_000

let sandbox: Sandbox
let place: ReturnType<typeof newSqlite>

beforeEach(async () => {
  sandbox = await startSandbox({ submissions: 0 })
  place = newSqlite()
})
afterEach(async () => {
  await sandbox.close()
  await place.remove()
})

async function startLoad(running: ServeProcess, length: number): Promise<Load> {
  const { webhookSecret } = sandbox.account('default')
  const load = new Load({
    url: `${running.receiver}/webhooks`,
    secret: webhookSecret,
    submissionId: sandbox.addSubmission('default'),
    length,
  })
  await load.answered(204, ENOUGH)
  return load
}

async function expectRecovery(load: Load, running: ServeProcess): Promise<void> {
  await load.answered(204, ENOUGH)
  await load.stop()
  await readiness(running, 200)
  const db = await openAgain(place.config)
  await expectNothingLost(load, running, db)
  await db.close()
  expect(await running.stop()).toBe(0)
}

it('while another process has the file locked deliveries are answered 503 in time, and accepted again when the lock ends', async () => {
  const running = await startServe({ ...databaseEnv(place.config), ...accountEnv(sandbox) })
  try {
    const load = await startLoad(running, 200)
    const other = startChild('outage/hold-exclusive.ts', [place.config.path])
    await other.says('locked')
    await load.answered(503, 2)
    await readiness(running, 503)
    await other.kill()
    await expectRecovery(load, running)
  } finally {
    await running.kill()
  }
})

it('while the disk is full deliveries are answered 503, and accepted again when there is space', async () => {
  // A limit on file size simulates a full disk. Blocks have 512 bytes; SQLite's log grows to 8,100 of them.
  const running = await startServe({ ...databaseEnv(place.config), ...accountEnv(sandbox) }, 'ulimit -S -f 16000')
  try {
    const load = await startLoad(running, LONG_TEXT)
    await load.answered(503, ENOUGH)
    await readiness(running, 503)
    expect(spawnSync('prlimit', ['--pid', String(running.process.pid), '--fsize=unlimited']).status).toBe(0)
    await expectRecovery(load, running)
  } finally {
    await running.kill()
  }
})
