import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { IMMUTABLE } from '../../src/push/contract/message-id.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { FaultInput } from '../../src/sandbox/service/faults.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { findDestination } from '../../src/store/outbox/destinations.ts'
import { mixed } from '../chaos/faults.ts'
import { waitFor } from '../e2e/agreement.ts'
import { accountEnv, databaseEnv, type ServeProcess, startServe } from '../e2e/serve.ts'
import { letTimePass } from '../e2e/time.ts'
import { isDone } from '../push/agreement.ts'
import { Hooks } from '../push/hooks.ts'
import { openAgain } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { Cluster } from './cluster.ts'
import { Follower } from './follower.ts'
import { type Acknowledged, Senders } from './senders.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
export const DESTINATION = 'agency'
const SUBMISSIONS = 4
export const LEASE_MS = 130_000
/** Short delays, and enough of them that no change is dead-lettered. */
const SCHEDULE = Array.from({ length: 50 }, () => '50ms')
const FAULTS: readonly FaultInput[] = [
  { kind: 'status', status: 503, retryAfterSeconds: 0, probability: 0.03 },
  { kind: 'invalid_cursor', probability: 0.05 },
  { kind: 'short_page', probability: 0.3 },
  { kind: 'cut', probability: 0.02 },
]
const MISHAPS = { take: 'take', reset: 'reset', lose: 'lose', broken: { status: 500 } } as const

/** Two database servers that swap, the product, and its service and destination, all with faults. */
export class Scene {
  readonly cluster: Cluster
  readonly sandbox: Sandbox
  readonly hooks: Hooks
  readonly running: ServeProcess
  /** Connects to the current primary, like the product. */
  readonly db: Db
  readonly senders: Senders
  readonly follower: Follower
  readonly #closing: (() => unknown)[]

  private constructor(parts: Pick<Scene, 'cluster' | 'sandbox' | 'hooks' | 'running' | 'db' | 'senders'>, closing: (() => unknown)[]) {
    this.cluster = parts.cluster
    this.sandbox = parts.sandbox
    this.hooks = parts.hooks
    this.running = parts.running
    this.db = parts.db
    this.senders = parts.senders
    this.follower = new Follower(parts.db)
    this.#closing = closing
  }

  static async open(options: { readonly synchronous: boolean }): Promise<Scene> {
    const cluster = await Cluster.start(options)
    const closing: (() => unknown)[] = [() => cluster.remove()]
    const db = await openAgain(cluster.config)
    closing.push(() => db.close())
    await migrate(db)
    const sandbox = await startSandbox({ submissions: 0, autoStart: false, seed: 'failover' })
    const submissions = Array.from({ length: SUBMISSIONS }, () => sandbox.addSubmission('default'))
    sandbox.faults.set(FAULTS)
    const hooks = await Hooks.start(SECRET)
    const plan = mixed('failover', { take: 60, reset: 3, lose: 3, broken: 4 })
    hooks.mishap = (_, nth) => MISHAPS[plan[nth % plan.length] ?? 'take']
    closing.push(
      () => sandbox.close(),
      () => hooks.close(),
    )
    const running = await startServe({ ...databaseEnv(cluster.config), ...accountEnv(sandbox), ...settingsFile(hooks, closing) })
    closing.push(() => running.kill())
    const senders = new Senders(sandbox, running.receiver, submissions)
    closing.push(() => senders.stop().catch(() => undefined))
    return new Scene({ cluster, sandbox, hooks, running, db, senders }, closing)
  }

  /** Ends the load, waits until nothing is open, and stops the product. */
  async settle(): Promise<void> {
    await this.senders.stop()
    this.sandbox.faults.set([])
    // Work claimed by a killed primary resumes when its lease ends.
    await letTimePass(this.db, LEASE_MS, { leases: true })
    const isProcessed = async () => (await this.#inbox()).every(({ state }) => state === 'done')
    if (!(await waitFor(isProcessed))) throw new Error(`a delivery waits:\n${this.running.lines().join('\n')}`)
    if (!(await waitFor(() => isDone(this.db, DESTINATION)))) {
      throw new Error(`changes wait to be sent: ${JSON.stringify(await findDestination(this.db.read, DESTINATION))}`)
    }
    await this.running.stop()
  }

  /** @returns acknowledged deliveries that aren't stored. */
  async lost(): Promise<readonly Acknowledged[]> {
    const stored = new Set((await this.#inbox()).map(({ delivery_id }) => delivery_id))
    return this.senders.acknowledged.filter(({ deliveryId }) => !stored.has(deliveryId))
  }

  async lastSeq(): Promise<number> {
    return (await this.db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()).last_seq
  }

  /** Waits until the destination takes a change after `seq` with an id that only this log has. */
  async pushedBehind(seq: number): Promise<void> {
    const from = this.hooks.arrivals.length
    const isOfThisBranch = (body: string) => {
      const { data } = JSON.parse(body) as { data: { seq: number; entity: string } }
      return data.seq > seq && !IMMUTABLE.has(data.entity)
    }
    await until(`the destination has a change behind ${seq}`, () =>
      this.hooks.arrivals.slice(from).some(({ taken, body }) => taken && isOfThisBranch(body)),
    )
  }

  /** @returns the log's epochs, as readers see them. */
  async epochs(): Promise<readonly { reason: string; after_seq: number; known_seq: number | null }[]> {
    return await this.db.read.all(sql<{ reason: string; after_seq: number; known_seq: number | null }>`
      select reason, after_seq, known_seq from log_epochs order by epoch_no`)
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close()
  }

  #inbox() {
    return this.db.read.sql.selectFrom('sync_inbox').select(['delivery_id', 'state']).execute()
  }
}

function settingsFile(hooks: Hooks, closing: (() => unknown)[]): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-failover-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'mirror.yaml')
  const destination = { name: DESTINATION, kind: 'webhook', url: hooks.urlOf(DESTINATION), secret: '${HOOK_SECRET}' }
  const patient = { start: 0, backfill: true, allow_private: true, timeout: '2s', schedule: SCHEDULE }
  writeFileSync(path, JSON.stringify({ destinations: [{ ...destination, ...patient }] }))
  return { CONFIG_FILE: path, HOOK_SECRET: SECRET }
}
