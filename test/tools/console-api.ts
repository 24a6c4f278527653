import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { loadConfig } from '../../src/config/config.ts'
import { startOpsHttp } from '../../src/ops/http/server.ts'
import { openDb } from '../../src/store/open/open.ts'

/**
 * Writes the types of the console's calls, from the program's description of its routes. `npm run build` and `npm run typecheck` start with
 * it; Vite alone needs no types. The types are not committed.
 */

const CONSOLE_API = new URL('../../src/console/api/schema.d.ts', import.meta.url)

const ACCOUNT = {
  BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
  BROKER_API_CLIENT_ID: 'bac_1',
  BROKER_API_CLIENT_SECRET: 'bas_1',
  WEBHOOK_SECRETS: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}
const TOKEN = 'console-0123456789-abcdef'

async function consoleApi(): Promise<string> {
  // openapi-typescript needs the classic API of TypeScript, which TypeScript 7 lacks.
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-classic' : specifier, context),
  })
  const { default: openapiTypescript, astToString } = await import('openapi-typescript')
  const nodes = await openapiTypescript(JSON.stringify(withoutRefusals(await describedRoutes())), { alphabetize: true })
  hooks.deregister()
  return astToString(nodes)
}

/** Every refusal is a `Problem`; repeated for each route they would be most of the file. */
function withoutRefusals(document: object): object {
  const isOperation = (value: object): value is { responses: Record<string, unknown> } => 'responses' in value && 'tags' in value
  return JSON.parse(JSON.stringify(document), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || !isOperation(value)) return value
    return { ...value, responses: Object.fromEntries(Object.entries(value.responses).filter(([status]) => status.startsWith('2'))) }
  }) as object
}

async function describedRoutes(): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'submission-mirror-api-'))
  const log = createLog({ level: 'silent', pretty: false, secrets: [] })
  const config = loadConfig({ ...ACCOUNT, DATABASE_URL: `sqlite:${join(folder, 'mirror.db')}`, OPS_TOKENS: `console:${TOKEN}` })
  const db = await openDb(config.database, { clock: systemClock, log })
  const reload = async () => ({ applied: [], needsRestart: [], fromEnvironment: [], problems: [] })
  const parts = {
    config: () => config,
    clock: systemClock,
    observer: silentObserver,
    signal: new AbortController().signal,
    version: '0.0.0',
  }
  const server = await startOpsHttp({
    host: '127.0.0.1',
    port: 0,
    notReady: async () => null,
    metrics: async () => ({ type: 'text/plain', text: '' }),
    admin: { ...parts, db, log, reload },
  })
  try {
    const answer = await fetch(`${server.origin}/api/v1/openapi.json`, { headers: { authorization: `Bearer ${TOKEN}` } })
    if (!answer.ok) throw new Error(`the description of the routes was answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as object
  } finally {
    await server.close()
    await db.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const text = await consoleApi()
// Keeps the time of an unchanged file, which the console's tests use to decide about a build.
if (text !== (await readFile(CONSOLE_API, 'utf8').catch(() => null))) await writeFile(CONSOLE_API, text)
