import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import type { DatabaseConfig, Db } from '../../src/store/db.ts'
import { openAgain } from '../tools/databases.ts'
import { inboxRows, logFaults, untilAgreed } from './agreement.ts'
import { databaseEnv, type Environment, runCommand, type ServeProcess, startServe, writeAccounts } from './serve.ts'

/** As short as the settings allow, so that what is polled and replayed within days is polled and replayed within seconds. */
const SHORT: Environment = {
  POLL_ACTIVE: '1s',
  POLL_QUIET: '2s',
  POLL_MAX: '2s',
  POLL_DORMANT: '2s',
  REPLAY_ACTIVE: '2s',
  REPLAY_QUIET: '2s',
  REPLAY_DORMANT: '2s',
  UPSTREAM_RPS: '200',
}
/** Looks at the mirror before it is thought to stay as it is. */
const LOOKS = 1_200

/** The service, played by the sandbox, and the product as processes; everything ends with the test. */
export class Stage {
  readonly sandbox: Sandbox
  readonly database: DatabaseConfig
  readonly #env: Environment

  private constructor(sandbox: Sandbox, database: DatabaseConfig, env: Environment) {
    this.sandbox = sandbox
    this.database = database
    this.#env = env
  }

  static async open(database: DatabaseConfig, options: SandboxOptions): Promise<Stage> {
    const sandbox = await startSandbox({ retryScheduleMs: Array.from({ length: 100 }, () => 250), autoStart: false, ...options })
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-e2e-'))
    onTestFinished(async () => {
      await sandbox.close()
      rmSync(folder, { recursive: true, force: true })
    })
    return new Stage(sandbox, database, { ...databaseEnv(database), ...writeAccounts(join(folder, 'accounts.yaml'), sandbox) })
  }

  async serve(): Promise<ServeProcess> {
    const running = await startServe({ ...SHORT, ...this.#env })
    onTestFinished(() => running.kill())
    return running
  }

  /** Makes every submission of every account known, as an operator does on the first day: some will never be told of again. */
  async track(): Promise<void> {
    for (const name of this.sandbox.accountNames) {
      await runCommand(this.#env, ['track', '--account', name, ...this.sandbox.submissionIds(name)])
    }
  }

  /** Sends the deliveries of each account to its own path. @param origin of a receiver. */
  deliverTo(origin: string): void {
    for (const name of this.sandbox.accountNames) this.sandbox.setTarget(name, `${origin}/webhooks/${name}`)
  }

  async openStore(): Promise<Db> {
    const db = await openAgain(this.database)
    onTestFinished(() => db.close())
    return db
  }
}

/** What must hold when a story has ended, whatever went wrong while it was told. */
export async function expectTheStory(stage: Stage, running: ServeProcess): Promise<Db> {
  const { sandbox } = stage
  await sandbox.storyEnded
  await sandbox.deliveriesSettled()
  const db = await stage.openStore()
  expect(await untilAgreed(db, sandbox, LOOKS), running.lines().join('\n')).toEqual([])
  expect(sandbox.writesSeen).toEqual([])
  expect(await running.stop(), running.lines().join('\n')).toBe(0)
  expect(await logFaults(db)).toEqual([])
  expect((await inboxRows(db)).filter((row) => row['state'] !== 'done')).toEqual([])
  const { deliveries, faults } = sandbox.stats()
  expect(deliveries).toMatchObject({ givenUp: 0, lost: expect.toSatisfy((n: number) => n > 0) })
  expect(Object.keys(faults)).toEqual(
    expect.arrayContaining(['lose', 'duplicate', 'twin', 'reorder', 'delay', 'status', 'short_page', 'empty_page']),
  )
  return db
}
