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

export const tokens = {
  admin: 'ann-0123456789-abcdef',
  operator: 'otto-0123456789-abcdef',
  viewer: 'vera-0123456789-abcdef',
} as const
export type TestRole = keyof typeof tokens

/** The shortest intervals, so that lost webhooks are found within seconds. */
const SHORT: Environment = {
  POLL_ACTIVE: '1s',
  POLL_QUIET: '2s',
  POLL_MAX: '2s',
  REPLAY_ACTIVE: '3s',
  REPLAY_QUIET: '3s',
  UPSTREAM_RPS: '500',
  DOCUMENTS: 'fetch',
}

/** The service with faults, the product, and two destinations, one of them with mapping. */
export interface Scene {
  readonly sandbox: Sandbox
  readonly serve: Served
  /** `http://host:port/console`. */
  readonly console: string
  readonly db: Db
  readonly agency: Target
  api<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T>
  destination(name: string): Promise<Destination | undefined>
  close(): Promise<void>
}

interface Destination {
  readonly destination: string
  readonly state: string
  readonly dead: number
}

/** @param more Further destinations, one line of YAML each. */
export async function openScene(
  database: TestDatabase,
  over: Environment = {},
  more: (agency: Target) => readonly string[] = () => [],
): Promise<Scene> {
  const closing = new AsyncDisposableStack()
  const opened = await database.open()
  closing.defer(() => opened.close())
  const retryScheduleMs = Array.from({ length: 40 }, () => 250)
  const sandbox = await startSandbox({ seed: 'console', submissions: 12, autoStart: false, faults: 'all', retryScheduleMs })
  closing.defer(() => sandbox.close())
  const agency = await startTarget()
  closing.defer(() => agency.close())
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-console-'))
  closing.defer(() => rmSync(folder, { recursive: true, force: true }))
  const env = { ...databaseEnv(opened.config), ...accountEnv(sandbox), ...SHORT, ...destinationEnv(folder, agency, more(agency)), ...over }
  const serve = await serveHere(env)
  closing.defer(async () => void (await serve.stop()))
  sandbox.account('default').target = `${serve.receiver}/webhooks`
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

/** Fires the alarm `disk_space`. A lease of another process keeps evaluations from resolving it. */
export async function fireDiskAlarm(db: Db, severity: 'warning' | 'critical', text: string, at = timeFromMs(Date.now())): Promise<void> {
  const until = timeFromMs(Date.now() + 80_000)
  await db.write('test', (tx) => tx.sql.updateTable('sync_alarm_watch').set({ lease_token: 'test', lease_until: until }).execute())
  const about = { name: 'disk_space', account: '', destination: '', severity, state: 'firing', text } as const
  await reportAlarm(db, { ...about, since: at, last_at: at, resolved_at: null, notified_at: null }, [])
}

/** Makes documents fail, since 90 s ago. @param errors by document key. */
export async function failDocuments(db: Db, errors: Readonly<Record<string, string>>): Promise<void> {
  await db.write('test', async (tx) => {
    for (const [key, error] of Object.entries(errors)) {
      const failed = { stored_at: null, stored_path: null, sha256: null, error }
      await tx.sql.updateTable('documents').set(failed).where('document_key', '=', key).execute()
      const outcome = { due_at: null, failures: 1, failing_since: timeFromMs(Date.now() - 90_000) }
      await tx.sql.updateTable('sync_documents').set(outcome).where('document_key', '=', key).execute()
    }
  })
}

/** Plays the story with faults, then waits until the mirror agrees with the service. */
export async function playStory({ sandbox, db, serve }: Scene): Promise<void> {
  while (sandbox.story.step() !== null);
  await sandbox.deliveries.idle()
  sandbox.faults.set([])
  const differences = await untilAgreed(db, sandbox, serve)
  if (differences.length > 0) throw new Error(`the mirror differs from the service: ${differences.slice(0, 3).join('; ')}`)
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
