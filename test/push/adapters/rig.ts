import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { loadConfig } from '../../../src/config.ts'
import type { Fact } from '../../../src/model/facts.ts'
import { silentObserver } from '../../../src/observe.ts'
import type { Db } from '../../../src/store/db.ts'
import { type DestinationRow, findDestination } from '../../../src/store/destinations.ts'
import { listOutbox, type OutboxEntry } from '../../../src/store/outbox-queries.ts'
import { storeMappings } from '../../../src/store/push-map.ts'
import { account, type Env, withFile } from '../../config/support.ts'
import { silentLog, type TestDatabase } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { createPushing } from '../pushing.ts'

export const ACCOUNT = 'default'
const PATIENCE_MS = 20_000
const LOOK_MS = 10

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
    await rig.until(async () => (await rig.state()) !== null)
    return rig
  }

  async apply(...facts: readonly Fact[]): Promise<void> {
    await applyAll(this.db, facts)
  }

  /** Says which client of the AMS a submission belongs to. */
  async map(submissionId: string, client: string): Promise<void> {
    await storeMappings(this.db, [{ destination: this.#name, account: ACCOUNT, submissionId, client, policy: null, fields: {} }], 'import')
  }

  async state(): Promise<DestinationRow | null> {
    return await findDestination(this.db.read, this.#name)
  }

  /** Waits until the rows of the outbox, the oldest first, are in these states. */
  async becomes(...states: readonly string[]): Promise<OutboxEntry[]> {
    let rows: OutboxEntry[] = []
    await this.until(async () => {
      rows = (await listOutbox(this.db.read, { destination: this.#name }, 100)).reverse()
      return rows.map(({ state }) => state).join() === states.join()
    }).catch((error: unknown) => {
      throw new Error(`the outbox is ${rows.map(({ state, error: why }) => `${state} (${why ?? ''})`).join()}, not ${states.join()}`, {
        cause: error,
      })
    })
    return rows
  }

  /** No signal tells of what is awaited here, so the database is asked again and again. */
  async until(condition: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error('it did not come about')
      await systemClock.sleep(LOOK_MS)
    }
  }
}
