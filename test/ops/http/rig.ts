import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import type { ReloadResult } from '../../../src/ops/actions/reload.ts'
import { type OpsHttp, startOpsHttp } from '../../../src/ops/http/server.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { listActions, type StoredAuditEntry } from '../../../src/store/operators/actions.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import type { OpenedDatabase, TestDatabase } from '../../tools/databases.ts'
import { knowDestinations, startTarget, type Target } from '../cli/push-rig.ts'

export const ALICE = 'alice-0123456789-abcdef'
export const BOB = 'bob-0123456789-abcdef'

export interface Answer<T = Record<string, unknown>> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: T
}

export interface Page<T = Record<string, unknown>> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

export const refusal = (status: number, detail: unknown) => ({ status, json: { detail } })

export interface Asked {
  readonly token?: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** A body of another type. */
  readonly raw?: { readonly type: string; readonly text: string | Buffer }
}

/** An ops server with its own database, two tokens and two destinations, without other parts of the product. */
export class AdminRig {
  readonly opened: OpenedDatabase
  readonly target: Target
  readonly env: Readonly<Record<string, string>>
  config: Config
  reloaded: ReloadResult = { applied: [], needsRestart: [], fromEnvironment: [], problems: [] }
  readonly lines: Record<string, unknown>[] = []
  readonly #folder: string
  readonly #stopping = new AbortController()
  #server: OpsHttp | null = null

  private constructor(opened: OpenedDatabase, target: Target, folder: string, env: Readonly<Record<string, string>>) {
    this.opened = opened
    this.target = target
    this.#folder = folder
    this.env = env
    this.config = loadConfig(env)
  }

  static async open(database: TestDatabase, over: Readonly<Record<string, string>> = {}): Promise<AdminRig> {
    const opened = await database.open()
    const target = await startTarget()
    const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-admin-'))
    const file = join(folder, 'mirror.yaml')
    const common = `kind: webhook, url: "${target.url}", secret: "\${AMS_SECRET}", allow_private: true, backfill: true, entities: [thread_messages]`
    writeFileSync(file, `destinations:\n  - { name: ams, ${common} }\n  - { name: mapped, ${common}, mapping: required }\n`)
    const rig = new AdminRig(opened, target, folder, {
      ...databaseEnv(opened.config),
      BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
      BROKER_API_CLIENT_ID: 'bac_1',
      BROKER_API_CLIENT_SECRET: 'bas_never-in-an-answer',
      WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      CONFIG_FILE: file,
      AMS_SECRET: `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
      OPS_TOKENS: `alice:${ALICE} bob:${BOB}`,
      ...over,
    })
    await ensureAccounts(opened.db, ['default'])
    await knowDestinations(opened.db, rig.env)
    await rig.#start()
    return rig
  }

  /** Adds alert recipients to the settings. @param yaml a list, each line indented. */
  useOperators(yaml: string): void {
    appendFileSync(this.env['CONFIG_FILE'] ?? '', `operators:\n${yaml}`)
    this.config = loadConfig(this.env)
  }

  get db(): Db {
    return this.opened.db
  }

  get origin(): string {
    return this.#server?.origin ?? ''
  }

  async #start(): Promise<void> {
    const write = (line: string) => void this.lines.push(JSON.parse(line) as Record<string, unknown>)
    this.#server = await startOpsHttp({
      host: '127.0.0.1',
      port: 0,
      notReady: async () => null,
      metrics: async () => ({ type: 'text/plain', text: '' }),
      admin: {
        db: this.db,
        clock: systemClock,
        observer: silentObserver,
        version: packageJson.version,
        signal: this.#stopping.signal,
        log: createLog({ level: 'info', pretty: false, secrets: [], destination: { write } }),
        config: () => this.config,
        reload: async () => this.reloaded,
      },
    })
  }

  /** @param path after `/api/v1`, or the full path if it begins with `/api`. */
  async ask<T = Record<string, unknown>>(method: string, path: string, asked: Asked = {}): Promise<Answer<T>> {
    const { token = ALICE, body, raw } = asked
    const headers = new Headers({ ...asked.headers, ...(token !== null && { authorization: `Bearer ${token}` }) })
    const sent = raw ?? (body === undefined ? null : { type: 'application/json', text: JSON.stringify(body) })
    if (sent) headers.set('content-type', sent.type)
    const url = `${this.origin}${path.startsWith('/api/') ? path : `/api/v1${path}`}`
    const response = await fetch(url, { method, headers, ...(sent && { body: sent.text }) })
    const text = await response.text()
    const isJson = text !== '' && /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, text, json: (isJson ? JSON.parse(text) : null) as T }
  }

  /** @returns audit entries without number and time, oldest first. */
  async notes(): Promise<Omit<StoredAuditEntry, 'action_id' | 'at'>[]> {
    const all = await listActions(this.db.read, {}, 1_000)
    return all.reverse().map(({ action_id: _, at: __, ...note }) => note)
  }

  beginStop(): void {
    this.#stopping.abort(new Error('the process is stopping'))
  }

  async close(): Promise<void> {
    this.beginStop()
    await this.#server?.close()
    await this.target.close()
    await this.opened.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** A rig that is opened before each test and closed after it. */
export function adminRigForEach(...open: Parameters<typeof AdminRig.open>): AdminRig {
  return currentRig(beforeEach, afterEach, open)
}

/** A rig that all tests of a suite share. */
export function adminRigForAll(...open: Parameters<typeof AdminRig.open>): AdminRig {
  return currentRig(beforeAll, afterAll, open)
}

/** @returns an object that forwards to the rig that is open. */
function currentRig(before: typeof beforeAll, after: typeof afterAll, open: Parameters<typeof AdminRig.open>): AdminRig {
  let rig: AdminRig
  before(async () => {
    rig = await AdminRig.open(...open)
  })
  after(() => rig.close())
  return new Proxy({} as AdminRig, {
    get: (_, name) => {
      const value: unknown = Reflect.get(rig, name)
      return typeof value === 'function' ? value.bind(rig) : value
    },
    set: (_, name, value) => Reflect.set(rig, name, value),
  })
}
