import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import type { CounterName, Labels, Observer } from '../../src/base/observer.ts'
import { Secret } from '../../src/base/secret.ts'
import { type Service, supervise } from '../../src/base/service.ts'
import type { DestinationConfig, WebhookDestination } from '../../src/config/config.ts'
import type { Fact } from '../../src/model/facts.ts'
import type { DeliveryKind } from '../../src/push/contract/delivery.ts'
import { createKind } from '../../src/push/kinds/create.ts'
import { createFanOuts } from '../../src/push/queue/create.ts'
import { OutboxSignal, Sender } from '../../src/push/send/sender.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { type CountedDestination, ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { openAgain, type TestDatabase } from '../tools/databases.ts'
import { countedDestination } from '../tools/destinations.ts'
import { applyAll } from '../tools/mirror.ts'
import { until } from '../tools/until.ts'
import { commonSettings } from './common-settings.ts'

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A destination on loopback that gets everything, and tries again at once. */
export function webhookTo(url: string, over: Partial<WebhookDestination> = {}): WebhookDestination {
  return {
    ...commonSettings,
    name: 'ams',
    kind: 'webhook',
    url,
    secrets: [new Secret(SECRET)],
    accounts: ['default'],
    // A busy machine may stand still for seconds.
    timeoutMs: 30_000,
    scheduleMs: [20, 20, 20, 20, 20, 20, 20, 20, 20, 20],
    concurrency: 8,
    idempotent: true,
    tls: null,
    ...over,
  }
}

/** Keeps what is counted. */
class Counts implements Observer {
  readonly #counts = new Map<string, number>()

  count(name: CounterName, labels: Labels = {}, by = 1): void {
    const key = `${name} ${Object.values(labels).join(' ')}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + by)
  }

  time(): void {}
  set(): void {}

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }
}

export interface Running {
  stop(): Promise<void>
}

/** The push stage with a database under it; changes come through apply, as they do in the product. */
export class PushRig {
  readonly db: Db
  readonly counts = new Counts()
  readonly lines: string[] = []
  readonly log: Log
  readonly #again: () => Promise<Db>
  readonly #running = new Set<Running>()

  private constructor(db: Db, again: () => Promise<Db>) {
    this.db = db
    this.#again = again
    this.log = createLog({ level: 'debug', pretty: false, secrets: [], destination: { write: (line: string) => this.lines.push(line) } })
  }

  static async open(database: TestDatabase): Promise<PushRig> {
    const opened = await database.open()
    const rig = new PushRig(opened.db, () => openAgain(opened.config))
    onTestFinished(async () => {
      for (const running of rig.#running) await running.stop()
      await opened.close()
    })
    return rig
  }

  async apply(facts: readonly Fact[]): Promise<void> {
    await applyAll(this.db, facts)
  }

  /** Makes the destinations known, so that they get all changes from here on. */
  async begin(...destinations: DestinationConfig[]): Promise<void> {
    await ensureDestinations(this.db, destinations)
  }

  /** Runs fan-out and senders, as one process does, until it is stopped. @param kindOf in the place of the real kind. */
  start(destinations: readonly DestinationConfig[], options: PushOptions = {}): Running {
    const { db = this.db, graceMs = 4_000, kindOf } = options
    const common = { db, clock: systemClock, log: this.log, observer: this.counts }
    const kinds = destinations.map((destination) => kindOf?.(destination) ?? createKind(destination, { ...common, proxy: {} }))
    const senders = kinds.map((kind, n) => new Sender({ ...common, kind, graceMs, destination: destinations[n] as DestinationConfig }))
    const fanOuts = createFanOuts({ db, log: this.log, destinations, isClockTrusted: async () => true })
    const services: Service[] = [...fanOuts.services, new OutboxSignal(db, senders), ...senders]
    const stopping = new AbortController()
    const ended = Promise.all(services.map((service) => supervise(service, systemClock, this.log, stopping.signal)))
    const running: Running = {
      stop: async () => {
        this.#running.delete(running)
        stopping.abort()
        await ended
        await Promise.all([fanOuts.close(), ...kinds.map((kind) => kind.close())])
      },
    }
    this.#running.add(running)
    return running
  }

  /** One more handle on the database, as another process has; it is closed with the test. */
  async secondProcess(): Promise<Db> {
    const db = await this.#again()
    onTestFinished(() => db.close())
    return db
  }

  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    await until(what, holds).catch((error: unknown) => {
      throw new Error(`${error}\n${this.lines.slice(-20).join('')}`, { cause: error })
    })
  }

  rows() {
    return this.db.read.sql.selectFrom('sync_outbox').selectAll().orderBy('outbox_id').execute()
  }

  async destination(name = 'ams'): Promise<CountedDestination> {
    const row = await countedDestination(this.db.read, name)
    if (row === null) throw new Error(`there is no destination ${name}`)
    return row
  }

  /** Whether nothing waits for the destination any more. */
  async isEmpty(name = 'ams'): Promise<boolean> {
    const { cursor, queued } = await this.destination(name)
    const { last_seq } = await this.db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()
    return cursor >= last_seq && queued === 0
  }
}

export interface PushOptions {
  readonly db?: Db
  readonly graceMs?: number
  readonly kindOf?: (destination: DestinationConfig) => DeliveryKind
}
