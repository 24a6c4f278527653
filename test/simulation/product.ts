import { Readable } from 'node:stream'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { Secret } from '../../src/base/secret.ts'
import { type Service as Stage, supervise } from '../../src/base/service.ts'
import type { AccountConfig, WebhookDestination } from '../../src/config/config.ts'
import { optionalReads } from '../../src/model/reads.ts'
import { SetBackWatch } from '../../src/ops/clocks/set-back-watch.ts'
import { AccountPoller } from '../../src/poll/account-poller.ts'
import { ReadSwitches } from '../../src/poll/read-switches.ts'
import { FanOut } from '../../src/push/queue/fan-out.ts'
import { OutboxSignal, Sender } from '../../src/push/send/sender.ts'
import { Receiver } from '../../src/receive/receiver.ts'
import { Reconciler } from '../../src/reconcile/run/service.ts'
import { repairEnds } from '../../src/store/changes/log-ends.ts'
import { checkLogEpoch } from '../../src/store/changes/log-epoch.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { RejectedStore } from '../../src/store/inbox/rejected.ts'
import { openDb } from '../../src/store/open/open.ts'
import { ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { LastUses } from '../../src/store/reads/last-uses.ts'
import { requestRun } from '../../src/store/reconcile/claims.ts'

import { createUpstreamClient, type UpstreamClient } from '../../src/upstream/client.ts'
import { Worker } from '../../src/work/worker.ts'
import { defaultRecordFields } from '../tools/record-fields.ts'
import type { Ams } from './ams.ts'
import { interleaved } from './database.ts'
import type { Owner, Scheduler } from './scheduler.ts'
import { type SignedDelivery, WEBHOOK_SECRET } from './sender.ts'
import { ACCOUNT, BASE_URL, CREDENTIAL } from './service.ts'

const SECOND = 1_000
const policy = {
  poll: { activeMs: 20 * SECOND, quietMs: 30 * SECOND, maxMs: 30 * SECOND, dormantMs: 60 * SECOND },
  replay: { activeMs: 75 * SECOND, quietMs: 75 * SECOND, dormantMs: 75 * SECOND },
}
/** Idle loops look less often here, since most looks find nothing and take real time. */
const LOOK_MS = 1_000
const SLOW_LOOK = 20
const GRACE_MS = 8_000

const account: AccountConfig = {
  name: ACCOUNT,
  default: true,
  baseUrl: BASE_URL,
  clientCredentials: [{ id: CREDENTIAL.id, secret: new Secret(CREDENTIAL.secret) }],
  scope: 'broker_mcp',
  webhookSecrets: [new Secret(WEBHOOK_SECRET)],
  discovery: null,
  extraReads: [],
}

/** Gets everything from the first change. @param idempotent false: nothing may arrive twice. */
export function destinationNamed(name: string, idempotent: boolean): WebhookDestination {
  return {
    name,
    kind: 'webhook',
    url: 'https://ams.invalid/',
    secrets: [new Secret(WEBHOOK_SECRET)],
    accounts: [ACCOUNT],
    entities: null,
    operations: null,
    eventTypes: null,
    filter: null,
    personalFields: [],
    taxIdFields: [],
    start: 0,
    backfill: true,
    maxAgeMs: null,
    onDead: 'continue',
    mapping: 'none',
    allowPrivate: true,
    allowHosts: null,
    rps: null,
    timeoutMs: 6_000,
    scheduleMs: Array.from({ length: 40 }, (_, n) => Math.min(2_000 * 2 ** n, 30_000)),
    concurrency: 4,
    idempotent,
    tls: null,
  }
}

export interface ProductParts {
  readonly path: string
  readonly scheduler: Scheduler
  readonly log: Log
  readonly destinations: readonly { readonly settings: WebhookDestination; readonly ams: Ams }[]
  readonly onFatal: (error: unknown) => void
}

/** One process of the product: the real stages, assembled as by `serve`, without sockets. */
export class Product {
  readonly owner: Owner
  readonly #p: ProductParts
  readonly #stopping = new AbortController()
  #receiver: Receiver | null = null
  #db: Db | null = null
  #ended: Promise<unknown> = Promise.resolve()

  constructor(parts: ProductParts, number: number) {
    this.#p = parts
    this.owner = { name: `p${number}`, alive: true, resources: new Set() }
  }

  get isReady(): boolean {
    return this.#receiver !== null && this.owner.alive
  }

  start(): void {
    this.#as('start', () => this.#start())
  }

  /** Passes a delivery to the receiver. @returns false without a listener. */
  receive(delivery: SignedDelivery, answer: (status: number) => void): boolean {
    const receiver = this.#receiver
    if (receiver === null || !this.owner.alive) return false
    this.#as('receive', async () => {
      const { headers, body } = delivery
      const request = {
        account: ACCOUNT,
        path: `/webhooks/${ACCOUNT}`,
        address: '192.0.2.1',
        headers,
        body: Readable.from([body]),
        onSigned() {},
        onManyChunks() {},
      }
      const { status } = await receiver.receive(request)
      if (this.owner.alive) answer(status)
    })
    return true
  }

  track(submissionId: string): void {
    this.#as('track', async () => {
      const db = this.#db as Db
      const fact = { kind: 'request', account: ACCOUNT, submissionId, cause: 'command', reads: [] } as const
      await inApplyTransaction(db, silentObserver, 'track', (transaction) => transaction.apply([fact]))
    })
  }

  reconcile(options: { readonly dry_run?: boolean }, onStored: (runId: string) => void = () => {}): void {
    this.#as('reconcile', async () => {
      onStored(await requestRun(this.#db as Db, { account: ACCOUNT, options, requestedBy: 'command' }))
    })
  }

  /** SIGTERM. @param onEnd called when the process has ended. */
  stop(onEnd: () => void): void {
    this.#as('stop', async () => {
      this.#stopping.abort(new Error('the process is stopping'))
      await this.#receiver?.drain()
      this.#receiver = null
      await this.#ended
      await this.#db?.close()
      if (this.owner.alive) onEnd()
    })
  }

  /** SIGKILL: nothing continues, and uncommitted work is rolled back. */
  kill(): void {
    this.#p.scheduler.kill(this.owner)
  }

  #as(what: string, work: () => Promise<void>): void {
    const failed = (error: unknown) => {
      if (this.owner.alive) this.#p.onFatal(error)
    }
    this.#p.scheduler.after(0, what, () => void work().catch(failed), this.owner)
  }

  async #start(): Promise<void> {
    const { path, scheduler, log, destinations } = this.#p
    const clock = slowClock()
    const db = interleaved(await openDb({ kind: 'sqlite', path }, { clock, log }), scheduler)
    this.#db = db
    await repairEnds(db)
    await checkLogEpoch(db)
    await ensureAccounts(db, [ACCOUNT])
    await ensureDestinations(
      db,
      destinations.map(({ settings }) => settings),
    )
    const observer = silentObserver
    const lastUses = new LastUses(db, log)
    const common = { db, clock, log, observer }
    const client = createUpstreamClient({ ...UPSTREAM, clock, observer, log })
    const stages: Stage[] = [lastUses, ...workingStages(common, client), new SetBackWatch(common), ...pushStages(common, destinations)]
    this.#ended = Promise.all(stages.map((stage) => supervise(stage, clock, log, this.#stopping.signal))).catch((error: unknown) => {
      if (this.owner.alive) this.#p.onFatal(error)
    })
    const appender = new InboxAppender(db)
    const rejectedStore = new RejectedStore(db, log)
    this.#receiver = new Receiver({
      accounts: [account],
      bodyLimitBytes: 4 << 20,
      appender,
      rejectedStore,
      lastUses,
      clock,
      log,
      observer,
    })
  }
}

const UPSTREAM = {
  account: ACCOUNT,
  baseUrl: BASE_URL,
  credentials: account.clientCredentials,
  scope: account.scope,
  requestsPerSecond: 20,
  proxy: {},
}

interface Common {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly observer: typeof silentObserver
}

function workingStages(common: Common, client: UpstreamClient): Stage[] {
  const clients = new Map([[ACCOUNT, client]])
  // Runs read the database directly, not in a thread.
  const reconciling = {
    ...common,
    database: null,
    clients,
    concurrency: 2,
    budgetMs: 3_600_000,
    destinations: [],
    recordFields: defaultRecordFields,
  }
  // Not started: nothing is switched off here.
  const switches = new ReadSwitches({ ...common, account: ACCOUNT, wanted: optionalReads })
  return [
    new Worker({ ...common, restMs: () => 0 }),
    new AccountPoller({ ...common, account: ACCOUNT, client, policy, concurrency: 4, switches }),
    new Reconciler({ ...reconciling, schedule: null }),
  ]
}

function pushStages(common: Common, destinations: ProductParts['destinations']): Stage[] {
  const { db, log } = common
  const settings = destinations.map((destination) => destination.settings)
  const senders = destinations.map(
    ({ settings, ams }) => new Sender({ ...common, destination: settings, kind: ams.kind(), graceMs: GRACE_MS }),
  )
  return [new FanOut({ db, log, destinations: settings, isClockTrusted: async () => true }), new OutboxSignal(db, senders), ...senders]
}

/** The simulation's clock, except for looks of idle loops. */
function slowClock(): Clock {
  return {
    ...systemClock,
    sleep: (ms, signal) => systemClock.sleep(ms === LOOK_MS ? ms * SLOW_LOOK : ms, signal),
  }
}
