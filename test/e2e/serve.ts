import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { compiledEnv } from '../tools/compile-cache.ts'
import { programPath } from '../tools/program.ts'
import { writeSettings } from '../tools/settings-file.ts'
import { until } from '../tools/until.ts'
import type { Waking } from '../tools/waking-clock.ts'

const LINES_KEPT = 200

export interface Served {
  readonly receiver: string
  readonly ops: string
  lines(): readonly string[]
  /** Resolves with the next log line containing `part`. @throws Error with the last lines if the process ends before. */
  says(part: string): Promise<string>
  /** Wakes its sleepers. The built program cannot be woken. */
  wake(waking?: Waking): void
  stop(): Promise<number | null>
}

export interface ServeProcess extends Served {
  readonly process: ChildProcess
  kill(): Promise<void>
}

export type Environment = Readonly<Record<string, string>>

/** Default settings of every `serve`. */
export const SERVE_ENV: Environment = { HOST: '127.0.0.1', PORT: '0', OPS_HOST: '127.0.0.1', OPS_PORT: '0', DOCUMENTS: 'list' }

/** Recent log lines of a `serve`, and their waiters. */
export class LogLines {
  readonly kept: string[] = []
  readonly #waiting = new Map<PromiseWithResolvers<string>, string>()

  hear(line: string): void {
    this.kept.push(line)
    if (this.kept.length > LINES_KEPT) this.kept.shift()
    for (const [waiter, part] of this.#waiting) if (line.includes(part)) waiter.resolve(line)
  }

  async says(part: string): Promise<string> {
    const waiter = Promise.withResolvers<string>()
    this.#waiting.set(waiter, part)
    return await waiter.promise.finally(() => this.#waiting.delete(waiter))
  }

  end(): void {
    for (const [waiter, part] of this.#waiting) waiter.reject(new Error(`serve ended without saying "${part}":\n${this.kept.join('\n')}`))
  }
}

/**
 * Starts `serve` and waits until it is ready.
 * @param env the whole environment except the path. @param shell shell commands to run first, such as a limit. @param main of another
 * release; default: this one.
 * @throws Error with the last log lines if it ends before.
 */
export async function startServe(env: Environment, shell = ':', main?: string): Promise<ServeProcess> {
  return await whenReady([main ?? programPath('main'), 'serve'], { env, shell, canWake: false })
}

/** The same with a `serve` that can be woken. */
export async function startWakingServe(env: Environment): Promise<ServeProcess> {
  return await whenReady([programPath('serve-child')], { env, shell: ':', canWake: true })
}

async function whenReady(
  program: readonly string[],
  { env, shell, canWake }: { readonly env: Environment; readonly shell: string; readonly canWake: boolean },
): Promise<ServeProcess> {
  const child = spawn('/bin/sh', ['-c', `${shell}; exec "$@"`, 'sh', process.execPath, ...program], {
    env: { PATH: process.env['PATH'] ?? '', ...compiledEnv(), ...SERVE_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(canWake ? (['ipc'] as const) : [])],
  })
  const log = new LogLines()
  const ready = Promise.withResolvers<{ receiver: string; ops: string }>()
  const hear = (line: string) => {
    log.hear(line)
    if (line.includes('"msg":"ready after')) ready.resolve(JSON.parse(line) as { receiver: string; ops: string })
  }
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on('line', hear)
  const closed = once(child, 'close').then(() => {
    ready.reject(new Error(`serve ended before it was ready:\n${log.kept.join('\n')}`))
    log.end()
  })
  const { receiver, ops } = await ready.promise
  return {
    process: child,
    receiver,
    ops,
    lines: () => log.kept,
    says: (part) => log.says(part),
    wake(waking = {}) {
      if (canWake && child.connected) child.send(waking, () => undefined)
    },
    async stop() {
      child.kill('SIGTERM')
      await closed
      return child.exitCode
    },
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
  }
}

/** Runs another command of the program. @throws Error with its output unless it exits with 0. */
export async function runCommand(env: Environment, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [programPath('main'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...compiledEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, complaints] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${child.exitCode}: ${complaints}`)
  return out
}

export function databaseEnv(database: DatabaseConfig): Environment {
  if (database.kind === 'sqlite') return { DATABASE_URL: `sqlite:${database.path}`, DOCUMENTS_DIR: `${database.path}-documents` }
  // A URL may name several hosts.
  const url = createHash('sha256').update(database.url.reveal()).digest('hex').slice(0, 16)
  const documents = join(tmpdir(), 'submission-mirror-documents', url, database.schema)
  return { DATABASE_URL: database.url.reveal(), DATABASE_SCHEMA: database.schema, DOCUMENTS_DIR: documents }
}

/** Settings of the sandbox's account `default`, with its credentials and secret. */
export function accountEnv(sandbox: Sandbox): Environment {
  const { credentials, webhookSecret } = sandbox.account('default')
  return {
    BROKER_API_BASE_URL: sandbox.baseUrl,
    BROKER_API_CLIENT_ID: credentials[0]?.clientId ?? '',
    BROKER_API_CLIENT_SECRET: credentials[0]?.clientSecret ?? '',
    WEBHOOK_SECRETS: webhookSecret,
    // Tests that need files name a folder.
    DOCUMENTS: 'list',
  }
}

/** Writes a settings file (JSON is YAML) for all accounts of a sandbox; the first is the default one. */
export function writeAccounts(path: string, sandbox: Sandbox): Environment {
  const accounts = sandbox.accountNames.map((name, index) => {
    const { credentials, webhookSecret } = sandbox.account(name)
    return {
      name,
      default: index === 0,
      base_url: sandbox.baseUrl,
      client_credentials: credentials.map(({ clientId, clientSecret }) => ({ id: clientId, secret: clientSecret })),
      webhook_secrets: [webhookSecret],
    }
  })
  writeSettings(path, { accounts })
  return { CONFIG_FILE: path }
}

const LOOKS_A_WAKE = 20

/** Wakes the product until `look` returns something. @returns it. @param what is awaited, in words. */
export async function untilServed<T>(serve: Pick<Served, 'wake'>, what: string, look: () => T | Promise<T>) {
  let looks = 0
  return await until(what, () => {
    if (looks++ % LOOKS_A_WAKE === 0) serve.wake()
    return look()
  })
}
