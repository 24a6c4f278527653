import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import type { Status } from '../../src/ops/status/status.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import { accountEnv, databaseEnv, startServe } from '../e2e/serve.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { json, runHere } from './run.ts'

it('`serve` makes the backups of BACKUP_CRON, which `restore` accepts and `status` shows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-scheduled-'))
  const sandbox = await startSandbox({ submissions: 1, autoStart: false })
  const { config, close } = await sqliteDatabase.open()
  const backups = join(folder, 'backups')
  const env = { ...accountEnv(sandbox), ...databaseEnv(config), BACKUP_CRON: '* * * * *', BACKUP_DIR: backups }
  const before = await runHere(['status'], env)
  expect(before.out).toContain('There is no backup yet.\n')
  const serve = await startServe(env)
  onTestFinished(async () => {
    await serve.kill()
    await sandbox.close()
    await close()
    rmSync(folder, { recursive: true, force: true })
  })
  await until('a backup is made', () => serve.lines().some((line) => line.includes('verified and test-restored')))
  const metrics = await (await fetch(`${serve.ops}/metrics`)).text()
  expect(metrics).toMatch(/^submission_mirror_backup_age_seconds \d/m)
  expect(metrics).toMatch(/^submission_mirror_backup_trial_age_seconds \d/m)
  expect(await serve.stop()).toBe(0)
  const status = json<Status>(await runHere(['status', '--json'], env))
  expect(status.backup).toEqual({ made_at: expect.any(String), bytes: expect.any(Number), tried_at: expect.any(String) })
  const name = readdirSync(backups).find((each) => each.endsWith('.db')) ?? ''
  const restored = await runHere(['restore', join(backups, name)], { DATABASE_URL: `sqlite:${join(folder, 'restored.db')}` })
  expect([restored.code, restored.err]).toEqual([0, ''])
})

it('BACKUP_CRON is rejected on Postgres, with an alternative', async () => {
  const { code, err } = await runHere(['status'], { DATABASE_URL: 'postgres://mirror@127.0.0.1:9/mirror', BACKUP_CRON: '0 2 * * *' })
  expect([code, err]).toEqual([
    2,
    expect.stringContaining('BACKUP_CRON is for SQLite only; set it to off, and back up Postgres with pg_dump'),
  ])
})
