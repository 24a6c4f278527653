import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { compiledEnv } from '../tools/compile-cache.ts'
import { programPath } from '../tools/program.ts'

const LINES_KEPT = 200

/** A running `serve`, in a process of its own. */
export interface ServeProcess {
  readonly process: ChildProcess
  /** `http://host:port` of the receiver, and of the ops server. */
  readonly receiver: string
  readonly ops: string
  /** The last lines of its log, for whoever looks for a failure. */
  lines(): readonly string[]
  /** Resolves with the next line of its log that holds `part`. @throws Error with the last lines when it ends before. */
  says(part: string): Promise<string>
  /** Asks it to stop. @returns its exit code. */
  stop(): Promise<number | null>
  /** Kills it as the system would. */
  kill(): Promise<void>
}

export type Environment = Readonly<Record<string, string>>

/**
 * Starts `serve` and waits until it says that it is ready.
 * @param env the whole environment, but for the path.
 * @param shell what a shell does first, such as setting a limit.
 * @param main the program; that of an earlier release perhaps.
 * @throws Error with the last lines of its log when it ends before it is ready.
 */
export async function startServe(env: Environment, shell = ':', main?: string): Promise<ServeProcess> {
  const program = main ?? (await programPath('main'))
  const child = spawn('/bin/sh', ['-c', `${shell}; exec "$@"`, 'sh', process.execPath, program, 'serve'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      ...compiledEnv(),
      HOST: '127.0.0.1',
      PORT: '0',
      OPS_HOST: '127.0.0.1',
      OPS_PORT: '0',
      DOCUMENTS: 'list',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kept: string[] = []
  const ready = Promise.withResolvers<{ receiver: string; ops: string }>()
  const waiting = new Map<PromiseWithResolvers<string>, string>()
  const hear = (line: string) => {
    kept.push(line)
    if (kept.length > LINES_KEPT) kept.shift()
    for (const [waiter, part] of waiting) if (line.includes(part)) waiter.resolve(line)
    if (line.includes('"msg":"ready after')) ready.resolve(JSON.parse(line) as { receiver: string; ops: string })
  }
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', hear)
  const closed = once(child, 'close').then(() => {
    ready.reject(new Error(`serve ended before it was ready:\n${kept.join('\n')}`))
    for (const [waiter, part] of waiting) waiter.reject(new Error(`serve ended without saying "${part}":\n${kept.join('\n')}`))
  })
  const { receiver, ops } = await ready.promise
  return {
    process: child,
    receiver,
    ops,
    lines: () => kept,
    async says(part) {
      const waiter = Promise.withResolvers<string>()
      waiting.set(waiter, part)
      return await waiter.promise.finally(() => waiting.delete(waiter))
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

/**
 * Runs another command of the program to its end.
 * @throws Error with what it wrote when it ends with anything but 0.
 */
export async function runCommand(env: Environment, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [await programPath('main'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...compiledEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, complaints] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${child.exitCode}: ${complaints}`)
  return out
}

/** The settings that name a database, and a folder for its documents. */
export function databaseEnv(database: DatabaseConfig): Environment {
  if (database.kind === 'sqlite') return { DATABASE_URL: `sqlite:${database.path}`, DOCUMENTS_DIR: `${database.path}-documents` }
  // A URL may name several hosts.
  const url = createHash('sha256').update(database.url.reveal()).digest('hex').slice(0, 16)
  const documents = join(tmpdir(), 'submission-mirror-documents', url, database.schema)
  return { DATABASE_URL: database.url.reveal(), DATABASE_SCHEMA: database.schema, DOCUMENTS_DIR: documents }
}

/** The settings of one account, `default`: what the sandbox's account of that name logs in with, and signs with. */
export function accountEnv(sandbox: Sandbox): Environment {
  const { credentials, webhookSecret } = sandbox.account('default')
  return {
    BROKER_API_BASE_URL: sandbox.baseUrl,
    BROKER_API_CLIENT_ID: credentials[0]?.clientId ?? '',
    BROKER_API_CLIENT_SECRET: credentials[0]?.clientSecret ?? '',
    WEBHOOK_SECRETS: webhookSecret,
    // Where files are wanted, a test names a folder.
    DOCUMENTS: 'list',
  }
}

/** Writes a settings file for all accounts of a sandbox; the first is the default one. JSON is YAML too. */
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
  writeFileSync(path, JSON.stringify({ accounts }))
  return { CONFIG_FILE: path }
}
