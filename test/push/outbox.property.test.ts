import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import type { Db } from '../../src/store/db.ts'
import { type ClaimedLane, claimLanes, type LaneResult, releaseLanes, settleLanes } from '../../src/store/outbox-work.ts'
import { testDatabases } from '../tools/databases.ts'
import { eventFact, messageFact, uuid, wireEvent, wireMessage } from '../tools/facts.ts'
import { applyAll, changesOf } from '../tools/mirror.ts'
import { ACCOUNT, counters, destinationOf, fanAll, fanOutOf, lanesIn, outboxOf, type TestDestination } from './outbox.ts'

const all = destinationOf('all')
const some = destinationOf('some', { entities: ['market_events'] })
const DESTINATIONS = [all, some]
const LEASE_MS = 60_000

type Step =
  | { readonly do: 'apply'; readonly submission: number; readonly n: number; readonly message: boolean }
  | { readonly do: 'fan-out' }
  | { readonly do: 'claim'; readonly destination: number; readonly lanes: number; readonly rowsPerLane: number }
  | { readonly do: 'settle'; readonly claim: number; readonly sent: number; readonly last: 'delivered' | 'ready' }
  | { readonly do: 'release'; readonly claim: number }
  | { readonly do: 'lose' }

const stepArbitrary: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('apply' as const), submission: fc.nat(2), n: fc.nat(30), message: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fan-out' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      destination: fc.nat(1),
      lanes: fc.integer({ min: 1, max: 3 }),
      rowsPerLane: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      claim: fc.nat(10),
      sent: fc.nat(4),
      last: fc.constantFrom('delivered' as const, 'ready' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), claim: fc.nat(10) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
)

/** Two destinations and those who send to them; what each of them got, in the order in which it did. */
class World {
  readonly got: { destination: string; lane: string; seq: number; messageId: string }[] = []
  readonly #db: Db
  readonly #clock: ManualClock
  readonly #claims: ClaimedLane[] = []

  constructor(db: Db, clock: ManualClock) {
    this.#db = db
    this.#clock = clock
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'apply') await this.#apply(step.submission, step.n, step.message)
    if (step.do === 'fan-out') await fanOutOf(this.#db, DESTINATIONS).step()
    if (step.do === 'claim') await this.#claim(DESTINATIONS[step.destination] ?? all, step.lanes, step.rowsPerLane)
    if (step.do === 'settle') await this.#settle(step.claim, step.sent, step.last)
    if (step.do === 'release') await this.#release(step.claim)
    if (step.do === 'lose') await this.#loseAll()
  }

  /** Sends what is left, with nobody else about. */
  async finish(): Promise<void> {
    await fanAll(this.#db, DESTINATIONS)
    await this.#loseAll()
    for (const destination of DESTINATIONS) {
      for (let more = true; more; ) {
        this.#claims.length = 0
        await this.#claim(destination, 10, 10)
        more = this.#claims.length > 0
        for (let left = this.#claims.length; left > 0; left--) await this.#settle(0, 10, 'delivered')
      }
    }
  }

  async #apply(submission: number, n: number, message: boolean): Promise<void> {
    const id = uuid(9, submission)
    await applyAll(this.#db, [message ? messageFact(ACCOUNT, id, wireMessage(n)) : eventFact(ACCOUNT, id, wireEvent(n))])
  }

  async #claim(destination: TestDestination, lanes: number, rowsPerLane: number): Promise<void> {
    this.#claims.push(...(await claimLanes(this.#db, destination.name, { lanes, rowsPerLane, leaseMs: LEASE_MS, uncertain: false })))
  }

  /** Sends the first `sent` rows of a claim, then says so: who has lost the lease has sent them all the same. */
  async #settle(claim: number, sent: number, last: 'delivered' | 'ready'): Promise<void> {
    const [lane] = this.#claims.splice(claim % Math.max(1, this.#claims.length), 1)
    if (!lane) return
    const tried = lane.rows.slice(0, Math.max(1, sent))
    const rows = tried.map((row, index) => {
      const state = index === tried.length - 1 ? last : 'delivered'
      if (state === 'delivered') this.got.push({ destination: lane.destination, lane: lane.lane, seq: row.seq, messageId: row.messageId })
      return {
        outboxId: row.outboxId,
        state,
        attempts: row.attempts + 1,
        uncertain: false,
        status: 200,
        detail: null,
        error: null,
        remoteId: null,
      }
    })
    const result: LaneResult = { lane, rows, next: { type: 'due', inMs: 0 } }
    await settleLanes(this.#db, [result])
  }

  async #release(claim: number): Promise<void> {
    const [lane] = this.#claims.splice(claim % Math.max(1, this.#claims.length), 1)
    if (lane) await releaseLanes(this.#db, [lane], { clearUncertain: false })
  }

  /** All leases end; who had them does not know. */
  async #loseAll(): Promise<void> {
    this.#clock.advance(LEASE_MS + 1)
    // Postgres has a clock of its own.
    const due_at = '2000-01-01T00:00:00.000000Z'
    if (this.#db.kind === 'postgres') await this.#db.write('test', (tx) => tx.sql.updateTable('sync_push_lanes').set({ due_at }).execute())
  }
}

/** The first time of each message, per lane, is in the order of the log; nothing but matching changes came, and all of them. */
async function expectAllSent(db: Db, world: World): Promise<void> {
  const changes = await changesOf(db)
  for (const destination of DESTINATIONS) {
    const matching = changes.filter((change) => destination.entities?.includes(change.entity) ?? true)
    const rows = await outboxOf(db, destination.name)
    expect(rows.map((row) => row.seq)).toEqual(matching.map((change) => change.seq))
    expect(rows.every((row) => row.state === 'delivered')).toBe(true)
    const got = world.got.filter((one) => one.destination === destination.name)
    for (const lane of new Set(matching.map((change) => change.submission_id))) {
      const first = [...new Set(got.filter((one) => one.lane === lane).map((one) => one.seq))]
      expect(first).toEqual(matching.filter((change) => change.submission_id === lane).map((change) => change.seq))
    }
    const { kept } = await counters(db, destination.name)
    expect(kept).toEqual([0, 0, 0])
  }
  expect(await lanesIn(db)).toEqual([])
}

describe.each(testDatabases)('the outbox on $name', ({ name, open }) => {
  it('sends every change to everybody who gets it, each lane in order, whatever happens in between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 60 }), async (steps) => {
        const clock = new ManualClock()
        const opened = await open({ clock })
        try {
          await fanOutOf(opened.db, DESTINATIONS).prepare()
          const world = new World(opened.db, clock)
          for (const step of steps) await world.take(step)
          await world.finish()
          await expectAllSent(opened.db, world)
        } finally {
          await opened.close()
        }
      }),
      { numRuns: name === 'sqlite' ? 40 : 10 },
    )
  })
})
