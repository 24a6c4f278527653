import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { openDb } from '../../src/store/open/open.ts'
import { type Ended, runHere } from '../app/run.ts'
import { databaseEnv, type Environment, type Served, type ServeProcess, startServe, startWakingServe, writeAccounts } from './serve.ts'
import { serveHere } from './serve-here.ts'

/** The shortest allowed intervals. */
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

export class Stage {
  readonly sandbox: Sandbox
  readonly database: DatabaseConfig
  readonly #env: Environment
  readonly #closing: (() => Promise<unknown> | unknown)[] = []

  private constructor(sandbox: Sandbox, database: DatabaseConfig, env: Environment) {
    this.sandbox = sandbox
    this.database = database
    this.#env = env
  }

  static async open(database: DatabaseConfig, options: SandboxOptions): Promise<Stage> {
    const sandbox = await startSandbox({ retryScheduleMs: Array.from({ length: 100 }, () => 250), autoStart: false, ...options })
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-e2e-'))
    const env = { ...databaseEnv(database), ...writeAccounts(join(folder, 'accounts.yaml'), sandbox) }
    const stage = new Stage(sandbox, database, env)
    stage.#closing.push(
      () => rmSync(folder, { recursive: true, force: true }),
      () => sandbox.close(),
    )
    return stage
  }

  /** @param settings in addition to those of database and accounts; default: very short intervals. */
  async serve(settings: Environment = SHORT): Promise<Served> {
    const running = await serveHere({ ...settings, ...this.#env })
    this.#closing.push(() => running.stop())
    return running
  }

  /** The same in its own process, which may be killed. */
  async serveApart(settings: Environment = SHORT): Promise<ServeProcess> {
    const running = await startWakingServe({ ...settings, ...this.#env })
    this.#closing.push(() => running.kill())
    return running
  }

  /** The program of a release, which cannot be woken. @param main its file; default: this release. */
  async serveRelease(main?: string): Promise<ServeProcess> {
    const running = await startServe({ ...SHORT, ...this.#env }, ':', main)
    this.#closing.push(() => running.kill())
    return running
  }

  /** Tracks every submission of every account, since some have no further activity. */
  async track(): Promise<void> {
    for (const name of this.sandbox.accountNames) {
      const { code, err } = await this.command('track', '--account', name, ...this.sandbox.submissionIds(name))
      if (code !== 0) throw new Error(`track ended with ${code}: ${err}`)
    }
  }

  command(...args: readonly string[]): Promise<Ended> {
    return runHere(args, this.#env)
  }

  /** Sends each account's deliveries to its own path. @param origin of a receiver. */
  deliverTo(origin: string): void {
    for (const name of this.sandbox.accountNames) this.sandbox.account(name).target = `${origin}/webhooks/${name}`
  }

  async openStore(): Promise<Db> {
    const db = await openDb(this.database, { clock: systemClock, log: createLog({ level: 'silent', pretty: false, secrets: [] }) })
    this.#closing.push(() => db.close())
    return db
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close()
  }
}
