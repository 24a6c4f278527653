import { expect, inject, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { STEPS } from '../../src/store/migrate/migrate.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { makeNextRelease } from '../tools/next-release.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'
import { startRoundRobin } from './round-robin.ts'
import type { ServeProcess } from './serve.ts'
import { Stage } from './stage.ts'
import { expectTheStory } from './story.ts'

/** For eight starts, a story, and its late faults. */
const timeout = 900_000

const BURST = 10

/** A stream of messages of one submission: each burst follows the mirrored previous one. */
class Stream {
  bursts = 0
  readonly #sandbox: Sandbox
  readonly #db: Db
  readonly #account: string
  readonly #id: string

  constructor(sandbox: Sandbox, db: Db) {
    this.#sandbox = sandbox
    this.#db = db
    this.#account = sandbox.accountNames[0] ?? ''
    this.#id = sandbox.addSubmission(this.#account)
  }

  async send(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      this.bursts += 1
      for (let n = 0; n < BURST; n++) this.#sandbox.addMessage(this.#account, this.#id, { body_text: `message ${n} of ${this.bursts}` })
      await until('the burst is mirrored', async () => (await this.#mirrored()) >= this.bursts * BURST)
    }
  }

  async flows(): Promise<void> {
    const { bursts } = this
    await until('another burst was mirrored', () => this.bursts > bursts + 1)
  }

  async #mirrored(): Promise<number> {
    const rows = await this.#db.read.sql.selectFrom('thread_messages').select('message_id').where('submission_id', '=', this.#id).execute()
    return rows.length
  }
}

async function replaceAll(stage: Stage, running: ServeProcess[], targets: string[], main: string | undefined): Promise<void> {
  const isAlone = stage.database.kind === 'sqlite'
  for (const [index, old] of running.entries()) {
    if (isAlone) expect(await old.stop(), old.lines().join('\n')).toBe(0)
    const fresh = await stage.serveRelease(main)
    targets[index] = fresh.receiver
    running[index] = fresh
    if (!isAlone) expect(await old.stop(), old.lines().join('\n')).toBe(0)
  }
}

/** @returns the version that a process reported at its start. */
function versionOf(running: ServeProcess): string {
  const ready = running.lines().find((line) => line.includes('"msg":"ready after'))
  return (JSON.parse(ready ?? '{}') as { version: string }).version
}

/** Upgrades, downgrades and upgrades again, during deliveries with faults. */
async function upgrade(config: DatabaseConfig, processes: number): Promise<void> {
  const next = makeNextRelease()
  onTestFinished(() => next.remove())
  const stage = await closedAtEnd(Stage.open(config, { seed: 'upgrade', speed: 20, faults: 'all', submissions: 6 }))
  const running: ServeProcess[] = []
  for (let n = 0; n < processes; n++) running.push(await stage.serveRelease())
  const targets = running.map(({ receiver }) => receiver)
  const balancer = await closedAtEnd(startRoundRobin(targets))
  const db = await stage.openStore()
  const schema = async () => (await db.read.sql.selectFrom('mirror_info').select('schema_version').executeTakeFirstOrThrow()).schema_version
  await stage.track()
  stage.deliverTo(balancer.origin)
  stage.sandbox.story.start()
  const over = new AbortController()
  const stream = new Stream(stage.sandbox, db)
  const sending = stream.send(over.signal)
  // Its failure is reported below, unless something else failed first.
  sending.catch(() => undefined)
  expect(await schema()).toBe(STEPS)
  for (const isNext of [true, false, true]) {
    await stream.flows()
    await replaceAll(stage, running, targets, isNext ? next.main : undefined)
    expect(running.map(versionOf)).toEqual(running.map(() => (isNext ? next.version : packageJson.version)))
    expect(await schema()).toBe(STEPS + 1)
  }
  await stream.flows()
  over.abort()
  await sending
  const [first, ...others] = running
  for (const other of others) expect(await other.stop()).toBe(0)
  if (first === undefined) throw new Error('none runs')
  targets.fill(first.receiver)
  await expectTheStory(stage, first)
}

it('SQLite: upgrade and downgrade under load, with nothing lost', { timeout }, async () => {
  const place = newSqlite()
  onTestFinished(() => place.remove())
  await upgrade(place.config, 1)
})

it('Postgres: rolling upgrade and downgrade under load, with nothing lost', { timeout }, async () => {
  const place = newPostgres(inject('postgresUrl'))
  onTestFinished(() => place.remove())
  await upgrade(place.config, 2)
})
