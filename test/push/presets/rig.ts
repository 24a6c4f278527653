import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { type Config, type DestinationConfig, loadConfig } from '../../../src/config/config.ts'
import { protectionSettings } from '../../../src/config/protect.ts'
import type { EventObservation, MessageObservation, Observation } from '../../../src/model/observations.ts'
import { verifyDestination } from '../../../src/ops/verify/verify-destination.ts'
import type { DeliveryKind } from '../../../src/push/contract/delivery.ts'
import { checkTemplates } from '../../../src/push/http/check-templates.ts'
import { createKind } from '../../../src/push/kinds/create.ts'
import type { VerificationReport, VerificationRequest } from '../../../src/push/verify/verification.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import type { CountedDestination } from '../../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import type { OutboxEntry } from '../../../src/store/outbox/queries.ts'
import { account, type Env, withFile } from '../../config/support.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { type OpenedDatabase, silentLog, type TestDatabase } from '../../tools/databases.ts'
import { countedDestination } from '../../tools/destinations.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, observedMessage, trackFact, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'
import { until } from '../../tools/until.ts'
import { outboxBecomes, outboxFor } from '../outbox-states.ts'
import { createPushing, type Pushing } from '../pushing.ts'

export const ACCOUNT = 'default'

export const SUBMISSION = uuid(9, 1)
export const event = (n: number, over = {}): EventObservation => observedEvent(ACCOUNT, SUBMISSION, wireEvent(n, over))
export const message = (n: number, over = {}): MessageObservation => observedMessage(ACCOUNT, SUBMISSION, wireMessage(n, over))
export const PERSONAL = 'market_events.detail, thread_messages.subject, thread_messages.body_text'

/** The way from the change log to one configured destination, with everything real. */
export class PushRig {
  readonly db: Db
  readonly database: OpenedDatabase['config']
  readonly destination: DestinationConfig
  readonly kind: DeliveryKind
  readonly env: Readonly<Record<string, string>>
  fieldsOf: (client: string) => Readonly<Record<string, string>> = () => ({})
  readonly #config: Config
  #pushing: Pushing
  #stop = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  private constructor({ db, config: database }: OpenedDatabase, config: Config, env: Env) {
    const { destination, problems } = onlyOne(config)
    if (problems.length > 0) throw new Error(problems.join('\n'))
    this.db = db
    this.database = database
    this.env = env as Record<string, string>
    this.destination = destination
    this.kind = createKind(destination, { clock: systemClock, log: silentLog, proxy: {} })
    this.#config = config
    this.#pushing = this.#create()
  }

  /** @param destination the YAML of one destination, in one line; it runs until the test ends. */
  static async start(database: TestDatabase, destination: string, env: Env): Promise<PushRig> {
    const opened = await database.open()
    const given = { ...account, ...databaseEnv(opened.config), ...withFile(`destinations:\n  - ${destination}\n`, env) }
    const config = loadConfig(given)
    opened.db.protection.use(protectionSettings(config))
    const rig = new PushRig(opened, config, given)
    onTestFinished(async () => {
      await rig.#close()
      await opened.close()
    })
    return rig
  }

  static async running(database: TestDatabase, destination: string, env: Env): Promise<PushRig> {
    const rig = await PushRig.start(database, destination, env)
    await rig.track(SUBMISSION)
    await rig.run()
    return rig
  }

  async run(): Promise<void> {
    this.#running = Promise.all(this.#pushing.services.map((service) => service.run(this.#stop.signal)))
    await until('the destination is there', () => this.state())
  }

  /** Stops as a process does on SIGTERM, and continues as the next one. */
  async restart(): Promise<void> {
    await this.#end()
    this.#stop = new AbortController()
    this.#pushing = this.#create()
    await this.run()
  }

  async apply(...facts: readonly Observation[]): Promise<void> {
    await applyAll(this.db, facts)
  }

  track(submissionId: string): Promise<void> {
    return this.apply(trackFact(ACCOUNT, submissionId))
  }

  async map(submissionId: string, client: string, policy: string | null = null): Promise<void> {
    const destination = this.destination.name
    await storeMappings(this.db, [{ destination, account: ACCOUNT, submissionId, client, policy, fields: this.fieldsOf(client) }], 'import')
  }

  async state(): Promise<CountedDestination | null> {
    return await countedDestination(this.db.read, this.destination.name)
  }

  verify(request: Partial<VerificationRequest> = {}): Promise<VerificationReport> {
    const parts = { db: this.db, clock: systemClock, log: silentLog, observer: silentObserver, config: this.#config, version: '0' }
    const all = { selection: {}, sample: null, repair: false, ...request }
    return verifyDestination({ ...parts, signal: new AbortController().signal }, this.destination, all)
  }

  async outbox(): Promise<OutboxEntry[]> {
    return await outboxFor(this.db, this.destination.name)
  }

  becomes(...states: readonly string[]): Promise<OutboxEntry[]> {
    return outboxBecomes(this.db, this.destination.name, states)
  }

  #create(): Pushing {
    return createPushing({ config: this.#config, db: this.db, clock: systemClock, log: silentLog, observer: silentObserver })
  }

  async #end(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.#pushing.close()
  }

  async #close(): Promise<void> {
    await Promise.all([this.kind.close(), this.#end()])
  }
}

function onlyOne({ destinations }: Config): { readonly destination: DestinationConfig; readonly problems: readonly string[] } {
  const [destination] = destinations
  if (destination === undefined) throw new Error('no destination')
  return { destination, problems: destination.kind === 'http' ? checkTemplates(destination) : [] }
}
