import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { timeFromMs } from '../../src/model/time.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { reportAlarm } from '../../src/store/operators/alarms.ts'
import { runHere } from '../app/run.ts'
import { untilAgreed } from '../e2e/agreement.ts'
import { accountEnv, databaseEnv, type Environment, type Served } from '../e2e/serve.ts'
import { serveHere } from '../e2e/serve-here.ts'
import { startTarget, type Target } from '../ops/cli/push-rig.ts'
import type { TestDatabase } from '../tools/databases.ts'

/** Who signs in, by role. */
export const tokens = {
  admin: 'ann-0123456789-abcdef',
  operator: 'otto-0123456789-abcdef',
  viewer: 'vera-0123456789-abcdef',
} as const
export type TestRole = keyof typeof tokens

/** As short as the settings allow, so that what is lost is found within seconds. */
const SHORT: Environment = {
  POLL_ACTIVE: '1s',
  POLL_QUIET: '2s',
  POLL_MAX: '2s',
  REPLAY_ACTIVE: '3s',
  REPLAY_QUIET: '3s',
  UPSTREAM_RPS: '500',
  DOCUMENTS: 'fetch',
}

/** The service with its faults on, the product, and two AMS, of which one wants clients mapped. */
export interface Scene {
  readonly sandbox: Sandbox
  readonly serve: Served
  /** `http://host:port/console`. */
  readonly console: string
  readonly db: Db
  readonly agency: Target
  /** Answers a route as a script would ask it. */
  api<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T>
  /** A destination as it stands now. */
  destination(name: string): Promise<Destination | undefined>
  close(): Promise<void>
}

interface Destination {
  readonly destination: string
  readonly state: string
  readonly dead: number
}

/** @param more further destinations, as YAML in one line each. */
export async function openScene(
  database: TestDatabase,
  over: Environment = {},
  more: (agency: Target) => readonly string[] = () => [],
): Promise<Scene> {
  const closing = new AsyncDisposableStack()
  const opened = await database.open()
  closing.defer(() => opened.close())
  const sandbox = await startSandbox({
    seed: 'console',
    submissions: 12,
    autoStart: false,
    faults: 'all',
    retryScheduleMs: Array.from({ length: 40 }, () => 250),
  })
  closing.defer(() => sandbox.close())
  const agency = await startTarget()
  closing.defer(() => agency.close())
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-console-'))
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  const env = { ...databaseEnv(opened.config), ...accountEnv(sandbox), ...SHORT, ...destinationEnv(folder, agency, more(agency)), ...over }
  const serve = await serveHere(env)
  closing.defer(async () => void (await serve.stop()))
  sandbox.setTarget('default', `${serve.receiver}/webhooks`)
  await runHere(['track', ...sandbox.submissionIds('default')], env)
  const api: Scene['api'] = (path, body) => ask(`${serve.ops}/api/v1${path}`, body)
  return {
    sandbox,
    serve,
    agency,
    db: opened.db,
    console: `${serve.ops}/console`,
    api,
    destination: async (name) => (await api<{ items: Destination[] }>('/destinations')).items.find((one) => one.destination === name),
    close: () => closing.disposeAsync(),
  }
}

/** Reports an alarm, and keeps the next evaluations from resolving it: another process seems to make them. */
export async function fireAlarm(db: Db, alarm: Parameters<typeof reportAlarm>[1]): Promise<void> {
  const until = timeFromMs(Date.now() + 80_000)
  await db.write('test', (tx) => tx.sql.updateTable('sync_alarm_watch').set({ lease_token: 'test', lease_until: until }).execute())
  await reportAlarm(db, alarm, [])
}

/** Plays what happens in a brokerage, with faults; then the weather is calm, and the mirror comes to agree with the service. */
export async function playStory({ sandbox, db, serve }: Scene): Promise<void> {
  while (sandbox.step() !== null);
  await sandbox.deliveriesSettled()
  sandbox.faults.set([])
  const differences = await untilAgreed(db, sandbox, serve)
  if (differences.length > 0) throw new Error(`the mirror did not become like the service: ${differences.slice(0, 3).join('; ')}`)
}

function destinationEnv(folder: string, agency: Target, more: readonly string[]): Environment {
  const common = `kind: webhook, url: "${agency.url}", secret: "\${AMS_SECRET}", allow_private: true, backfill: true, schedule: [100ms, 200ms]`
  const file = join(folder, 'mirror.yaml')
  const all = [`{ name: agency, ${common} }`, `{ name: clients, ${common}, mapping: required }`, ...more]
  writeFileSync(file, `destinations:\n${all.map((each) => `  - ${each}\n`).join('')}`)
  const named = Object.entries(tokens).map(([role, token]) => `${token.split('-')[0]}:${token}:${role}`)
  return { CONFIG_FILE: file, AMS_SECRET: `whsec_${Buffer.alloc(32, 9).toString('base64')}`, OPS_TOKENS: named.join(' ') }
}

async function ask<T>(url: string, body?: unknown): Promise<T> {
  const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const headers = { authorization: `Bearer ${tokens.admin}`, ...(body !== undefined && { 'content-type': 'application/json' }) }
  const answer = await fetch(url, { ...post, headers })
  if (!answer.ok) throw new Error(`${url} was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as T
}
