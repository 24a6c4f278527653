import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { request } from 'undici'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { differences, inboxRows, logFaults, waitFor } from '../e2e/agreement.ts'
import { startRoundRobin } from '../e2e/round-robin.ts'
import { accountEnv, databaseEnv, type ServeProcess, startServe } from '../e2e/serve.ts'
import { newPostgres, newSqlite, openAgain } from '../tools/databases.ts'
import { oldReleases, unpack } from './old-release.ts'

const ACCOUNT = 'default'
const TEST_MS = 120_000
const SETTLE_MS = 30_000
const SUBMISSIONS = 12
/** Between two things that happen while processes are replaced. */
const PAUSE_MS = 150
/** What one process has had to do with reading is soon done. */
const QUICK = { UPSTREAM_RPS: '1000', POLL_ACTIVE: '1s' }

/** The service, and how each of its deliveries was answered at the first try. */
async function openService(): Promise<{ sandbox: Sandbox; outcomes: string[] }> {
  const outcomes: string[] = []
  const sandbox = await startSandbox({
    submissions: 0,
    autoStart: false,
    observe(notice) {
      if (notice.kind === 'delivery') outcomes.push(notice.outcome)
    },
  })
  onTestFinished(() => sandbox.close())
  return { sandbox, outcomes }
}

let turns = 0

/** Something happens: told by deliveries, and some of it only by the feeds. */
function addNews(sandbox: Sandbox): void {
  const known = sandbox.submissionIds(ACCOUNT)
  const id = known.length < SUBMISSIONS ? sandbox.addSubmission(ACCOUNT) : (known[turns++ % known.length] ?? '')
  const { rail } = sandbox.addLane(ACCOUNT, id)
  const lane_id = rail.submission_market_id
  sandbox.addEvents(ACCOUNT, id, [{ type: 'market_attached', lane_id }], { quiet: true })
  sandbox.addEvents(ACCOUNT, id, [
    { type: 'quote_received', lane_id },
    { type: 'bound', lane_id },
  ])
  sandbox.addMessage(ACCOUNT, id, { body_text: 'Your quote is here.', attachments: [{ name: 'a.pdf', download_path: null }] })
}

/** Adds news until `count` more deliveries were answered. */
async function deliver(sandbox: Sandbox, outcomes: readonly string[], count: number): Promise<void> {
  const wanted = outcomes.length + count
  while (outcomes.length < wanted) {
    addNews(sandbox)
    const before = outcomes.length
    expect(await waitFor(() => outcomes.length > before, SETTLE_MS)).toBe(true)
  }
}

async function expectAgreement(db: Db, sandbox: Sandbox): Promise<void> {
  await sandbox.deliveriesSettled()
  let left: readonly string[] = ['never compared']
  const agreed = await waitFor(async () => {
    left = await differences(db, sandbox, ACCOUNT)
    const open = (await inboxRows(db)).filter((row) => row['state'] !== 'done')
    return left.length === 0 && open.length === 0
  }, SETTLE_MS)
  expect(agreed, left.join('\n')).toBe(true)
  expect(await logFaults(db, { olderLog: true })).toEqual([])
}

async function schemaVersion(db: Db): Promise<number> {
  return (await db.read.sql.selectFrom('mirror_info').select('schema_version').executeTakeFirstOrThrow()).schema_version
}

/** Everything that is in the mirror and its log, as text, without what was added later. */
async function kept(db: Db, tables: readonly string[], columns: ReadonlyMap<string, readonly string[]>): Promise<string[]> {
  const all: string[] = []
  for (const table of tables) {
    const { rows } = await sql<
      Record<string, unknown>
    >`select ${sql.join((columns.get(table) ?? []).map((name) => sql.ref(name)))} from ${sql.table(table)}`.execute(db.read.sql)
    all.push(...rows.map((row) => `${table} ${JSON.stringify(row)}`))
  }
  return all.sort()
}

const TABLES = ['submissions', 'market_events', 'thread_messages', 'thread_attachments', 'lanes', 'quotes', 'changes'] as const

async function columnsOf(db: Db): Promise<ReadonlyMap<string, readonly string[]>> {
  const columns = new Map<string, readonly string[]>()
  for (const table of TABLES) {
    const { rows } =
      db.kind === 'sqlite'
        ? await sql<{ name: string }>`select name from pragma_table_info(${table})`.execute(db.read.sql)
        : await sql<{
            name: string
          }>`select column_name as name from information_schema.columns where table_schema = current_schema() and table_name = ${table}`.execute(
            db.read.sql,
          )
    columns.set(
      table,
      rows.map(({ name }) => name),
    )
  }
  return columns
}

const places = [
  { name: 'sqlite', open: (): { config: DatabaseConfig; remove(): Promise<void> } => newSqlite() },
  { name: 'postgres', open: (): { config: DatabaseConfig; remove(): Promise<void> } => newPostgres(inject('postgresUrl')) },
]

describe.each(oldReleases)('over $name', (release) => {
  it.each(places)('this release goes on where that one stopped, on $name', { timeout: TEST_MS }, async ({ open }) => {
    const place = open()
    onTestFinished(() => place.remove())
    const old = unpack(release)
    onTestFinished(() => old.remove())
    const { sandbox, outcomes } = await openService()
    const env = { ...QUICK, ...databaseEnv(place.config), ...accountEnv(sandbox) }
    const before = await startServe(env, ':', old.main)
    onTestFinished(() => before.kill())
    sandbox.setTarget(ACCOUNT, `${before.receiver}/webhooks`)
    await deliver(sandbox, outcomes, 12)
    await sandbox.deliveriesSettled()
    // What that program has not worked yet is for this one.
    addNews(sandbox)
    expect(await before.stop()).toBe(0)
    const db = await openAgain(place.config)
    onTestFinished(() => db.close())
    const columns = await columnsOf(db)
    const [version, had] = [await schemaVersion(db), await kept(db, TABLES, columns)]
    expect(had.length).toBeGreaterThan(20)
    const deliveries = (await inboxRows(db)).map((row) => row['delivery_id'])
    const now = await startServe(env)
    onTestFinished(() => now.kill())
    expect(await schemaVersion(db)).toBeGreaterThan(version)
    const has = new Set(await kept(db, TABLES, columns))
    // Submissions and lanes may have been read anew already; everything else is as it was.
    expect(had.filter((row) => !/^(?:submissions|lanes) /.test(row) && !has.has(row))).toEqual([])
    sandbox.setTarget(ACCOUNT, `${now.receiver}/webhooks`)
    await deliver(sandbox, outcomes, 12)
    await expectAgreement(db, sandbox)
    const after = new Set((await inboxRows(db)).map((row) => row['delivery_id']))
    expect(deliveries.filter((id) => !after.has(id))).toEqual([])
    expect(await now.stop()).toBe(0)
  })

  it('two processes on Postgres are replaced one after the other, and every delivery is taken at its first try', {
    timeout: TEST_MS,
  }, async () => {
    const place = newPostgres(inject('postgresUrl'))
    onTestFinished(() => place.remove())
    const old = unpack(release)
    onTestFinished(() => old.remove())
    const { sandbox, outcomes } = await openService()
    const env = { ...QUICK, ...databaseEnv(place.config), ...accountEnv(sandbox) }
    const start = async (main?: string): Promise<ServeProcess> => {
      const serve = await startServe(env, ':', main)
      onTestFinished(() => serve.kill())
      return serve
    }
    const [one, two] = [await start(old.main), await start(old.main)]
    const targets = [one.receiver, two.receiver]
    const balancer = await startRoundRobin(targets)
    onTestFinished(() => balancer.close())
    sandbox.setTarget(ACCOUNT, `${balancer.origin}/webhooks`)
    await deliver(sandbox, outcomes, 10)
    const db = await openAgain(place.config)
    onTestFinished(() => db.close())
    const version = await schemaVersion(db)
    let over = false
    const delivering = (async () => {
      while (!over) {
        await deliver(sandbox, outcomes, 1)
        await sleep(PAUSE_MS)
      }
    })()
    // The first of the new ones expands the tables under the old ones, which go on.
    const three = await start()
    expect(await schemaVersion(db)).toBeGreaterThan(version)
    targets.splice(0, 2, two.receiver, three.receiver)
    await sleep(100)
    expect(await one.stop(), one.lines().join('\n')).toBe(0)
    const seen = outcomes.length
    expect(await waitFor(() => outcomes.length > seen + 20, SETTLE_MS)).toBe(true)
    expect((await request(`${two.ops}/readyz`)).statusCode).toBe(200)
    const four = await start()
    targets.splice(0, 2, three.receiver, four.receiver)
    await sleep(100)
    expect(await two.stop(), two.lines().join('\n')).toBe(0)
    const later = outcomes.length
    expect(await waitFor(() => outcomes.length > later + 10, SETTLE_MS)).toBe(true)
    over = true
    await delivering
    await expectAgreement(db, sandbox)
    expect(outcomes.filter((outcome) => outcome !== 'acknowledged')).toEqual([])
    for (const old of [one, two]) expect(old.lines().filter((line) => line.includes('"level":50'))).toEqual([])
    for (const serve of [three, four]) expect(await serve.stop(), serve.lines().join('\n')).toBe(0)
  })
})
