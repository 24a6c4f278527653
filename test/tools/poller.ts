import { type RawBuilder, sql } from 'kysely'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import type { CounterName, Labels, Observer, TimerName } from '../../src/base/observer.ts'
import type { Service } from '../../src/base/service.ts'
import { DocumentFetcher } from '../../src/documents/fetch/fetcher.ts'
import { Space } from '../../src/documents/fetch/space.ts'
import type { DocumentStorage } from '../../src/documents/storage/storage.ts'
import { optionalReads } from '../../src/model/reads.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { AccountPoller } from '../../src/poll/account-poller.ts'
import { Discovery, type DiscoveryOptions } from '../../src/poll/discovery.ts'
import { type ExtraRead, ExtraReads } from '../../src/poll/extra-reads.ts'
import { IdReads } from '../../src/poll/id-reads.ts'
import type { PollPolicy } from '../../src/poll/intervals.ts'
import { ReadSwitches } from '../../src/poll/read-switches.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import type { ReadsTable } from '../../src/store/schema/reads.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { Elsewhere } from '../../src/upstream/http/elsewhere.ts'
import { Worker } from '../../src/work/worker.ts'
import { type OpenedDatabase, openAgain, type TestDatabase } from './databases.ts'
import { applyAll } from './mirror.ts'
import { trackFact } from './observations.ts'
import { defaultRecordFields } from './record-fields.ts'
import { sandboxClient } from './sandbox-client.ts'
import { PATIENCE_MS } from './until.ts'

const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const policy: PollPolicy = {
  poll: { activeMs: MINUTE, quietMs: 15 * MINUTE, maxMs: 6 * HOUR, dormantMs: 7 * DAY },
  replay: { activeMs: DAY, quietMs: 7 * DAY, dormantMs: 30 * DAY },
}
/** Interval of `until`, for unreported changes. */
const LOOK_MS = 15

/** Stores counts of the stages, and wakes waiters. */
class Watch implements Observer {
  readonly timed: TimerName[] = []
  readonly #counts: { readonly name: CounterName; readonly labels: Labels; readonly by: number }[] = []
  readonly #waiting: (() => void)[] = []

  count(name: CounterName, labels: Labels = {}, by = 1): void {
    this.#counts.push({ name, labels, by })
    for (const wake of this.#waiting.splice(0)) wake()
  }

  time(name: TimerName): void {
    this.timed.push(name)
  }

  set(): void {}

  total(name: CounterName, labels: Labels): number {
    const asked = Object.entries(labels)
    const matching = this.#counts.filter((one) => one.name === name && asked.every(([label, value]) => one.labels[label] === value))
    return matching.reduce((sum, one) => sum + one.by, 0)
  }

  async next(): Promise<void> {
    await Promise.race([new Promise<void>((resolve) => this.#waiting.push(resolve)), systemClock.sleep(LOOK_MS)])
  }
}

export interface RigOptions {
  readonly sandbox?: SandboxOptions
  readonly accounts?: readonly string[]
  readonly stateReads?: readonly string[]
}

export interface PollerOptions {
  readonly account?: string
  readonly db?: Db
  readonly concurrency?: number
  readonly headersMs?: number
}

export interface DocumentOptions {
  readonly maxBytes: number
  readonly totalBytes: number
  readonly hosts: readonly string[]
  readonly elsewhere: Elsewhere
}

export interface Running {
  stop(): Promise<void>
}

export type ReadRow = ReadsTable

/** The real parts together: a database, the sandbox over HTTP, the upstream client, workers and pollers. Ends with the test. */
export class Rig {
  readonly db: Db
  readonly sandbox: Sandbox
  readonly #config: DatabaseConfig
  readonly #watch = new Watch()
  readonly #lines: string[] = []
  readonly #log: Log
  #stateReads: readonly string[]
  readonly #switches = new Map<string, { readonly switches: ReadSwitches; readonly running: Running }>()
  readonly #closing: (() => Promise<void>)[] = []

  private constructor({ db, config }: OpenedDatabase, sandbox: Sandbox, stateReads: readonly string[]) {
    this.#stateReads = stateReads
    this.db = db
    this.#config = config
    this.sandbox = sandbox
    this.#log = createLog({ level: 'info', pretty: false, secrets: [], destination: { write: (line: string) => this.#lines.push(line) } })
  }

  static async open(database: TestDatabase, options: RigOptions = {}): Promise<Rig> {
    const accounts = options.accounts ?? ['default']
    const opened = await database.open()
    const sandbox = await startSandbox({
      submissions: 0,
      autoStart: false,
      retryScheduleMs: [1, 1, 1],
      accounts: accounts.map((name) => ({ name })),
      ...options.sandbox,
    })
    await ensureAccounts(opened.db, accounts)
    const rig = new Rig(opened, sandbox, options.stateReads ?? optionalReads)
    onTestFinished(async () => {
      for (const close of rig.#closing.reverse()) await close()
      await sandbox.close()
      await opened.close()
    })
    return rig
  }

  async another(): Promise<Db> {
    if (this.db.kind === 'sqlite') return this.db
    const db = await openAgain(this.#config)
    this.#closing.push(() => db.close())
    return db
  }

  async track(ids: readonly string[], account = 'default'): Promise<void> {
    await applyAll(
      this.db,
      ids.map((id) => trackFact(account, id)),
    )
  }

  startPoller(options: PollerOptions = {}): Running {
    const { account = 'default', db = this.db, concurrency = 8, headersMs = PATIENCE_MS } = options
    const client = this.#client(account, headersMs)
    const common = { account, clock: systemClock, observer: this.#watch, log: this.#log }
    const switches = this.#switchesOf(account, db)
    return this.#startWith(client, new AccountPoller({ ...common, db, client, policy, concurrency, switches }))
  }

  startIdReads(recordFields = defaultRecordFields): Running {
    const { db } = this
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const common = { account, clock: systemClock, observer: this.#watch, log: this.#log }
    return this.#startWith(client, new IdReads({ ...common, db, client, policy, recordFields, switches: this.#switchesOf(account, db) }))
  }

  #switchesOf(account: string, db: Db): ReadSwitches {
    const known = this.#switches.get(account)
    if (known !== undefined) return known.switches
    const switches = new ReadSwitches({ account, db, clock: systemClock, log: this.#log, wanted: this.#stateReads })
    this.#switches.set(account, { switches, running: this.#start(switches) })
    return switches
  }

  /** Changes the state reads, as a reload does. Services must have stopped. */
  async list(stateReads: readonly string[]): Promise<void> {
    for (const { running } of this.#switches.values()) await running.stop()
    this.#switches.clear()
    this.#stateReads = stateReads
  }

  startExtraReads(reads: readonly ExtraRead[], { clock = systemClock } = {}): Running {
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const common = { account, clock, observer: this.#watch, log: this.#log }
    return this.#startWith(client, new ExtraReads({ ...common, db: this.db, client, reads }))
  }

  startDocuments(storage: DocumentStorage, options: Partial<DocumentOptions> = {}): Running {
    const { db } = this
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const { maxBytes = 1_000_000, totalBytes = 1_000_000_000, hosts = [] } = options
    const elsewhere = options.elsewhere ?? new Elsewhere({ hosts, proxy: {} })
    const common = { account, clock: systemClock, observer: this.#watch, log: this.#log }
    const space = new Space({ db, clock: systemClock, log: this.#log }, totalBytes)
    const parts = { db, client, baseUrl: this.sandbox.baseUrl, elsewhere, storage, space, maxBytes, hosts }
    return this.#startWith(client, new DocumentFetcher({ ...common, ...parts }))
  }

  startDiscovery(paths: readonly string[], options: Partial<Pick<DiscoveryOptions, 'maxNew' | 'idFields' | 'db'>> = {}): Running {
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const common = { account, clock: systemClock, observer: this.#watch, log: this.#log }
    return this.#startWith(client, new Discovery({ ...common, db: this.db, ...options, client, paths, everyMs: HOUR }))
  }

  startWorker(db = this.db): Running {
    return this.#start(new Worker({ db, clock: systemClock, log: this.#log, observer: this.#watch, restMs: () => 0 }))
  }

  async deliver(bodies: readonly unknown[], options: { account?: string; ids?: readonly string[] } = {}): Promise<void> {
    const outcomes = await new InboxAppender(this.db).append(
      bodies.map((body, index) => ({
        account: options.account ?? 'default',
        deliveryId: options.ids?.[index] ?? `msg_${crypto.randomUUID()}`,
        receivedAt: timeFromMs(Date.now()),
        headers: {},
        body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
        secret: 1,
      })),
    )
    for (const outcome of outcomes) if (outcome !== null) throw outcome
  }

  timed(): TimerName[] {
    return this.#watch.timed.splice(0)
  }

  counted(name: CounterName, labels: Labels = {}): number {
    return this.#watch.total(name, labels)
  }

  logged(text: string): boolean {
    return this.lines(text).length > 0
  }

  lines(text: string): string[] {
    return this.#lines.filter((line) => line.includes(text))
  }

  /** Waits until `condition` holds, checked after each report. @throws Error at the time limit. */
  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(`not within ${PATIENCE_MS} ms: ${what}\n${this.#lines.slice(-10).join('')}`)
      await this.#watch.next()
    }
  }

  async rest(): Promise<void> {
    for (;;) {
      await this.until('nothing is due or being made', async () => (await this.#busy()) === 0)
      if (!(await this.#hasten())) return
    }
  }

  async idle(): Promise<void> {
    const leased = this.db.read.sql.selectFrom('sync_reads').select('read').where('lease_token', 'is not', null).limit(1)
    await this.until('no read is being made', async () => (await leased.execute()).length === 0)
  }

  addBound(account: string, facts: Parameters<Sandbox['addSubmission']>[1] = {}): { readonly id: string; readonly lane: string } {
    const id = this.sandbox.addSubmission(account, facts)
    return { id, lane: this.bind(account, id) }
  }

  bind(account: string, id: string): string {
    const lane = this.sandbox.addLane(account, id).rail.submission_market_id
    this.sandbox.patchLane(account, id, lane, { rail: { bound: true, chip: 'bound' } })
    return lane
  }

  async isFree(): Promise<boolean> {
    const leased = this.db.read.sql.selectFrom('sync_reads').select('id').where('id', '<>', '').where('lease_token', 'is not', null)
    return (await leased.execute()).length === 0
  }

  async poll(): Promise<Running> {
    const running = this.startPoller()
    await this.rest()
    return running
  }

  async passAndRest(ms: number): Promise<void> {
    await this.pass(ms)
    await this.rest()
  }

  /** Advances time by aging stored rows, except leases. */
  async pass(ms: number): Promise<void> {
    await this.db.write('test-pass', async (tx) => {
      const older = (columns: readonly string[]) =>
        sql.join(columns.map((column) => sql`${sql.ref(column)} = ${earlier(tx.kind, column, ms)}`))
      const times = ['due_at', 'full_read_due_at', 'last_full_read_at', 'last_read_at', 'last_changed_at', 'active_at']
      await tx.run(sql`update sync_reads set ${older(times)} where lease_token is null`)
      await tx.run(sql`update sync_path_reads set ${older(['due_at', 'last_read_at'])} where lease_token is null`)
      await tx.run(sql`update sync_reads_off set ${older(['retry_at'])}`)
      await tx.run(sql`update sync_documents set ${older(['due_at', 'failing_since'])} where lease_token is null`)
      await tx.run(sql`update sync_accounts set ${older(['retry_at', 'swept_at', 'throttled_since', 'throttled_until'])}`)
      await tx.run(sql`update sync_inbox set ${older(['available_at'])} where state = 'ready'`)
    })
    this.#wake()
  }

  async read(submissionId: string, read: ReadRow['read'], account = 'default'): Promise<ReadRow> {
    const query = this.db.read.sql.selectFrom('sync_reads').selectAll().where('account', '=', account)
    return query.where('submission_id', '=', submissionId).where('read', '=', read).executeTakeFirstOrThrow()
  }

  asked(operation: string, submissionId = ''): URLSearchParams[] {
    const requests = this.sandbox.activity.requests.filter((one) => one.operation === operation && one.url.includes(submissionId))
    return requests.map((one) => new URL(one.url, 'http://sandbox').searchParams)
  }

  #client(account: string, headersMs: number): UpstreamClient {
    const timeouts = { headersMs, overallMs: headersMs + 1_000 }
    return sandboxClient(this.sandbox, account, { observer: this.#watch, timeouts })
  }

  #startWith(client: UpstreamClient, service: Service): Running {
    const running = this.#start(service)
    return {
      async stop() {
        await running.stop()
        await client.close()
      },
    }
  }

  #start(service: Service): Running {
    const abort = new AbortController()
    let ending: Promise<void> | null = null
    const run = service.run(abort.signal)
    // Reported when it is stopped.
    run.catch(() => undefined)
    const stop = () => {
      abort.abort()
      ending ??= run
      return ending
    }
    // The test has seen its failure.
    this.#closing.push(() => stop().catch(() => undefined))
    return { stop }
  }

  #wake(): void {
    for (const topic of ['reads', 'inbox'] as const) this.db.signals.notify(topic)
  }

  async #busy(): Promise<number> {
    // Includes reads due within a moment, since the database's clock is finer.
    const now = sql`${timeFromMs(Date.now() + LOOK_MS)}`
    const time = this.db.kind === 'postgres' ? sql`${now}::timestamptz` : now
    return await this.db.read.count(sql<{ n: number }>`
      select (select count(*) from sync_reads where id = '' and (lease_token is not null or due_at <= ${time}))
        + (select count(*) from sync_inbox where state = 'ready' and (available_at <= ${time} or lease_token is not null and attempts = 0)) as n`)
  }

  async #hasten(): Promise<boolean> {
    const woken = await this.db.write('test-hasten', (tx) =>
      tx.sql
        .updateTable('sync_reads')
        .set({ due_at: timeFromMs(Date.now() - 1) })
        .where('rank', '=', 0)
        .where('lease_token', 'is', null)
        .executeTakeFirst(),
    )
    this.#wake()
    return woken.numUpdatedRows > 0n
  }
}

function earlier(kind: Db['kind'], column: string, ms: number): RawBuilder<unknown> {
  if (kind === 'postgres') return sql`${sql.ref(column)} - ${ms}::float8 * interval '1 millisecond'`
  return sql`strftime('%Y-%m-%dT%H:%M:%f000Z', ${sql.ref(column)}, ${`-${ms / 1000} seconds`})`
}
