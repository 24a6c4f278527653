import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'
import { type Service, supervise } from '../../src/base/service.ts'
import type { DestinationConfig, WebhookDestination } from '../../src/config/config.ts'
import type { Observation } from '../../src/model/observations.ts'
import type { DeliveryKind } from '../../src/push/contract/delivery.ts'
import { createKind } from '../../src/push/kinds/create.ts'
import { createFanOuts } from '../../src/push/queue/filtered-fan-out.ts'
import { OutboxSignal, Sender } from '../../src/push/send/sender.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { type CountedDestination, ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { Counts } from '../tools/counts.ts'
import { openAgain, type TestDatabase } from '../tools/databases.ts'
import { countedDestination } from '../tools/destinations.ts'
import { applyAll } from '../tools/mirror.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'
import { commonSettings } from './common-settings.ts'

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A destination on loopback that gets everything, with immediate retries. */
export function webhookTo(url: string, over: Partial<WebhookDestination> = {}): WebhookDestination {
  return {
    ...commonSettings,
    name: 'ams',
    kind: 'webhook',
    url,
    secrets: [new Secret(SECRET)],
    accounts: ['default'],
    // A busy machine may pause for seconds.
    timeoutMs: 30_000,
    scheduleMs: [20, 20, 20, 20, 20, 20, 20, 20, 20, 20],
    concurrency: 8,
    idempotent: true,
    tls: null,
    ...over,
  }
}

export interface Running {
  stop(): Promise<void>
}

/** The push stage with a database; changes come through apply, as in the product. */
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

  async apply(facts: readonly Observation[]): Promise<void> {
    await applyAll(this.db, facts)
  }

  async begin(...destinations: DestinationConfig[]): Promise<void> {
    await ensureDestinations(this.db, destinations)
  }

  async push(destination: DestinationConfig, options: PushOptions = {}): Promise<Running> {
    await this.begin(destination)
    return this.start([destination], options)
  }

  /** Runs fan-out and senders, as one process does, until it is stopped. @param kindOf replaces the real kind. */
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

  async secondProcess(): Promise<Db> {
    const db = await closedAtEnd(this.#again())
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
