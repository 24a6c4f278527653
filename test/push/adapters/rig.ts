import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { loadConfig } from '../../../src/config/config.ts'
import type { Fact } from '../../../src/model/facts.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import type { CountedDestination } from '../../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import type { OutboxEntry } from '../../../src/store/outbox/queries.ts'
import { account, type Env, withFile } from '../../config/support.ts'
import { silentLog, type TestDatabase } from '../../tools/databases.ts'
import { countedDestination } from '../../tools/destinations.ts'
import { applyAll } from '../../tools/mirror.ts'
import { until } from '../../tools/until.ts'
import { outboxBecomes } from '../outbox-states.ts'
import { createPushing } from '../pushing.ts'

export const ACCOUNT = 'default'

/** The way from the change log to one destination that a settings file describes, with everything real. */
export class AdapterRig {
  readonly db: Db
  readonly #name: string

  private constructor(db: Db, name: string) {
    this.db = db
    this.#name = name
  }

  /** @param destination the YAML of one destination, in one line; what changes from now on is sent until the test ends. */
  static async start(database: TestDatabase, destination: string, env: Env): Promise<AdapterRig> {
    const config = loadConfig({ ...account, ...withFile(`destinations:\n  - ${destination}\n`, env) })
    const { db, close } = await database.open()
    const pushing = createPushing({ config, db, clock: systemClock, log: silentLog, observer: silentObserver })
    const rig = new AdapterRig(db, config.destinations[0]?.name ?? '')
    const stop = new AbortController()
    const running = Promise.all(pushing.services.map((service) => service.run(stop.signal)))
    onTestFinished(async () => {
      stop.abort()
      await running
      await pushing.close()
      await close()
    })
    await until('the destination is there', () => rig.state())
    return rig
  }

  async apply(...facts: readonly Fact[]): Promise<void> {
    await applyAll(this.db, facts)
  }

  /** Says which client of the AMS a submission belongs to. */
  async map(submissionId: string, client: string): Promise<void> {
    await storeMappings(this.db, [{ destination: this.#name, account: ACCOUNT, submissionId, client, policy: null, fields: {} }], 'import')
  }

  async state(): Promise<CountedDestination | null> {
    return await countedDestination(this.db.read, this.#name)
  }

  /** Waits until the rows of the outbox, the oldest first, are in these states. */
  becomes(...states: readonly string[]): Promise<OutboxEntry[]> {
    return outboxBecomes(this.db, this.#name, states)
  }
}
