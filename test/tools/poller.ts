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
import type { Db } from '../../src/store/engine/db.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import type { ReadsTable } from '../../src/store/schema/reads.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { Elsewhere } from '../../src/upstream/http/elsewhere.ts'
import { Worker } from '../../src/work/worker.ts'
import type { TestDatabase } from './databases.ts'
import { trackFact } from './facts.ts'
import { applyAll } from './mirror.ts'
import { defaultRecordFields } from './record-fields.ts'
import { sandboxClient } from './sandbox-client.ts'
import { PATIENCE_MS } from './until.ts'

const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
/** The defaults of the settings. Time is made to pass by `Rig.pass`, so nothing waits for them. */
export const policy: PollPolicy = {
  poll: { activeMs: MINUTE, quietMs: 15 * MINUTE, maxMs: 6 * HOUR, dormantMs: 7 * DAY },
  replay: { activeMs: DAY, quietMs: 7 * DAY, dormantMs: 30 * DAY },
}
/** How long `until` waits for something to be reported before it looks again: not everything is. */
const LOOK_MS = 15

/** Keeps what the stages count, and tells who waits that something happened. */
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
  /** Names of the accounts, each of them one of the sandbox; `default` when left out. */
  readonly accounts?: readonly string[]
  /** The state reads that are made; all when left out. */
  readonly stateReads?: readonly string[]
}

export interface PollerOptions {
  readonly account?: string
  readonly db?: Db
  readonly concurrency?: number
  /** How long a request waits for its answer. */
  readonly headersMs?: number
}

export interface DocumentOptions {
  readonly maxBytes: number
  readonly totalBytes: number
  readonly hosts: readonly string[]
  readonly elsewhere: Elsewhere
}

/** A service under way. */
export interface Running {
  /** Lets it finish what is in hand. @throws whatever the service threw. */
  stop(): Promise<void>
}

export type ReadRow = ReadsTable

/**
 * The backbone put together from its real parts: a database, the sandbox over HTTP, the upstream client, workers and pollers.
 * Everything ends with the test.
 */
export class Rig {
  readonly db: Db
  readonly sandbox: Sandbox
  readonly #watch = new Watch()
  readonly #lines: string[] = []
  readonly #log: Log
  #stateReads: readonly string[]
  readonly #switches = new Map<string, { readonly switches: ReadSwitches; readonly running: Running }>()
  readonly #closing: (() => Promise<void>)[] = []

  private constructor(db: Db, sandbox: Sandbox, stateReads: readonly string[]) {
    this.#stateReads = stateReads
    this.db = db
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
    const rig = new Rig(opened.db, sandbox, options.stateReads ?? optionalReads)
    onTestFinished(async () => {
      for (const close of rig.#closing.reverse()) await close()
      await sandbox.close()
      await opened.close()
    })
    return rig
  }

  /** Begins to track submissions, as an operator does. */
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

  /** Starts what reads bind requests, policies and insureds; the poller must have checked the account. */
  startIdReads(recordFields = defaultRecordFields): Running {
    const { db } = this
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const common = { account, clock: systemClock, observer: this.#watch, log: this.#log }
    return this.#startWith(client, new IdReads({ ...common, db, client, policy, recordFields, switches: this.#switchesOf(account, db) }))
  }

  /** One for the services of an account, started with the first of them. */
  #switchesOf(account: string, db: Db): ReadSwitches {
    const known = this.#switches.get(account)
    if (known !== undefined) return known.switches
    const switches = new ReadSwitches({ account, db, clock: systemClock, log: this.#log, wanted: this.#stateReads })
    this.#switches.set(account, { switches, running: this.#start(switches) })
    return switches
  }

  /** Lists other state reads, as a reload does. The services that were started before must have stopped. */
  async list(stateReads: readonly string[]): Promise<void> {
    for (const { running } of this.#switches.values()) await running.stop()
    this.#switches.clear()
    this.#stateReads = stateReads
  }

  /** Starts the reads of paths that the operator names; it begins at once. */
  startExtraReads(reads: readonly ExtraRead[], { clock = systemClock } = {}): Running {
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const common = { account, clock, observer: this.#watch, log: this.#log }
    return this.#startWith(client, new ExtraReads({ ...common, db: this.db, client, reads }))
  }

  /** Starts what fetches documents; the poller must have checked the account. */
  startDocuments(storage: DocumentStorage, options: Partial<DocumentOptions> = {}): Running {
    const { db } = this
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const { maxBytes = 1_000_000, totalBytes = 1_000_000_000, hosts = [] } = options
    const elsewhere = options.elsewhere ?? new Elsewhere({ hosts, proxy: {} })
    const common = { account, clock: systemClock, observer: this.#watch, log: this.#log }
    const space = new Space(db, systemClock, this.#log, totalBytes)
    const parts = { db, client, baseUrl: this.sandbox.baseUrl, elsewhere, storage, space, maxBytes, hosts }
    return this.#startWith(client, new DocumentFetcher({ ...common, ...parts }))
  }

  /** Starts what probes paths for submissions; it begins at once. */
  startDiscovery(paths: readonly string[], options: Partial<Pick<DiscoveryOptions, 'maxNew' | 'idFields'>> = {}): Running {
    const { db } = this
    const account = 'default'
    const client = this.#client(account, PATIENCE_MS)
    const common = { account, clock: systemClock, observer: this.#watch, log: this.#log }
    return this.#startWith(client, new Discovery({ ...common, ...options, db, client, paths, everyMs: HOUR }))
  }

  startWorker(db = this.db): Running {
    return this.#start(new Worker({ db, clock: systemClock, log: this.#log, observer: this.#watch, restMs: () => 0 }))
  }

  /** Puts deliveries into the inbox, as the receiver does. */
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

  /** What was timed since this was asked for last. */
  timed(): TimerName[] {
    return this.#watch.timed.splice(0)
  }

  /** How often something was counted, over all counts that bear these labels. */
  counted(name: CounterName, labels: Labels = {}): number {
    return this.#watch.total(name, labels)
  }

  /** Whether a line of the log, in JSON, holds `text`. */
  logged(text: string): boolean {
    return this.lines(text).length > 0
  }

  /** The lines of the log, in JSON, that hold `text`. */
  lines(text: string): string[] {
    return this.#lines.filter((line) => line.includes(text))
  }

  /** Waits until `condition` holds. It is looked at again whenever something is reported. @throws Error after a while. */
  async until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(`not within ${PATIENCE_MS} ms: ${what}\n${this.#lines.slice(-10).join('')}`)
      await this.#watch.next()
    }
  }

  /** Lets everything happen that is due or was woken, until nothing more is. */
  async rest(): Promise<void> {
    for (;;) {
      await this.until('nothing is due or being made', async () => (await this.#busy()) === 0)
      if (!(await this.#hasten())) return
    }
  }

  /** Waits until no read is being made. */
  async idle(): Promise<void> {
    const leased = this.db.read.sql.selectFrom('sync_reads').select('read').where('lease_token', 'is not', null).limit(1)
    await this.until('no read is being made', async () => (await leased.execute()).length === 0)
  }

  /** Lets time pass: everything stored is so much older. What is being made keeps its lease. */
  async pass(ms: number): Promise<void> {
    await this.db.write('test-pass', async (tx) => {
      const older = (columns: readonly string[]) =>
        sql.join(columns.map((column) => sql`${sql.ref(column)} = ${earlier(tx.kind, column, ms)}`))
      const times = ['due_at', 'replay_due_at', 'last_replay_at', 'last_read_at', 'last_changed_at', 'active_at']
      await sql`update sync_reads set ${older(times)} where lease_token is null`.execute(tx.sql)
      await sql`update sync_known_ids set ${older(['due_at', 'last_read_at'])} where lease_token is null`.execute(tx.sql)
      await sql`update sync_path_reads set ${older(['due_at', 'last_read_at'])} where lease_token is null`.execute(tx.sql)
      await sql`update sync_reads_off set ${older(['retry_at'])}`.execute(tx.sql)
      await sql`update sync_documents set ${older(['due_at', 'failing_since'])} where lease_token is null`.execute(tx.sql)
      await sql`update sync_accounts set ${older(['retry_at', 'swept_at', 'throttled_since', 'throttled_until'])}`.execute(tx.sql)
      await sql`update sync_inbox set ${older(['available_at'])} where state = 'ready'`.execute(tx.sql)
    })
    this.#wake()
  }

  async read(submissionId: string, read: ReadRow['read'], account = 'default'): Promise<ReadRow> {
    const query = this.db.read.sql.selectFrom('sync_reads').selectAll().where('account', '=', account)
    return query.where('submission_id', '=', submissionId).where('read', '=', read).executeTakeFirstOrThrow()
  }

  /** What was asked of an operation, oldest first: the queries, for one submission or for all. */
  asked(operation: string, submissionId = ''): URLSearchParams[] {
    const requests = this.sandbox.requestsSeen.filter((one) => one.operation === operation && one.url.includes(submissionId))
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
    // Seen when it is stopped; until then nobody waits for it.
    run.catch(() => undefined)
    const stop = () => {
      abort.abort()
      ending ??= run
      return ending
    }
    // One that failed was seen by the test that stopped it, or by what the test waited for in vain.
    this.#closing.push(() => stop().catch(() => undefined))
    return { stop }
  }

  #wake(): void {
    for (const topic of ['reads', 'inbox'] as const) this.db.signals.notify(topic)
  }

  async #busy(): Promise<number> {
    // What is due in a moment counts too: the database's clock is finer than ours.
    const now = sql`${timeFromMs(Date.now() + LOOK_MS)}`
    const time = this.db.kind === 'postgres' ? sql`${now}::timestamptz` : now
    const { rows } = await sql<{ n: number }>`
      select (select count(*) from sync_reads where lease_token is not null or due_at <= ${time})
        + (select count(*) from sync_inbox where state = 'ready' and (available_at <= ${time} or lease_token is not null and attempts = 0)) as n`.execute(
      this.db.read.sql,
    )
    return Number(rows[0]?.n)
  }

  /** Makes reads that were woken due at once. @returns whether there were any. */
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
