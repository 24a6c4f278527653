import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { Outcome } from '../../src/push/contract/delivery.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { ensureDestinations } from '../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../src/store/outbox/push-map.ts'
import { retryRows, skipRows } from '../../src/store/outbox/retry.ts'
import { type ClaimedStream, claimStreams, type RowResult, releaseStreams, settleStreams } from '../../src/store/outbox/work.ts'
import { openAgain, sqliteDatabase, testDatabases } from '../tools/databases.ts'
import { meddled } from '../tools/meddled.ts'
import { applyAll, changesOf } from '../tools/mirror.ts'
import { observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../tools/observations.ts'
import { delivered, testKind } from './kind.ts'
import { ACCOUNT, counters, destinationOf, fanAll, fanOutOf, outboxOf, result, streamsIn, type TestDestination } from './outbox.ts'
import { PushRig, webhookTo } from './rig.ts'

const all = destinationOf('all')
const some = destinationOf('some', { entities: ['market_events'] })
const DESTINATIONS = [all, some]
const LEASE_MS = 60_000
/** Separate handles on Postgres; on SQLite, senders of one process. */
const PROCESSES = 3

type Step = { readonly process: number } & Deed
type Deed =
  | { readonly do: 'apply'; readonly submission: number; readonly n: number; readonly message: boolean }
  | { readonly do: 'fan-out' }
  | { readonly do: 'claim'; readonly destination: number; readonly streams: number; readonly rowsPerStream: number }
  | { readonly do: 'settle'; readonly claim: number; readonly sent: number; readonly last: 'delivered' | 'ready' }
  | { readonly do: 'release'; readonly claim: number }
  | { readonly do: 'lose' }

const deedArbitrary: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('apply' as const), submission: fc.nat(2), n: fc.nat(30), message: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fan-out' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      destination: fc.nat(1),
      streams: fc.integer({ min: 1, max: 3 }),
      rowsPerStream: fc.integer({ min: 1, max: 4 }),
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

const stepArbitrary: fc.Arbitrary<Step> = fc.tuple(fc.nat(PROCESSES - 1), deedArbitrary).map(([process, deed]) => ({ process, ...deed }))

class World {
  readonly got: { destination: string; stream: string; seq: number; messageId: string }[] = []
  readonly #db: Db
  readonly #dbs: readonly Db[]
  readonly #clock: ManualClock
  readonly #claims: ClaimedStream[] = []

  constructor(dbs: readonly [Db, ...Db[]], clock: ManualClock) {
    this.#db = dbs[0]
    this.#dbs = dbs
    this.#clock = clock
  }

  async take(step: Step): Promise<void> {
    const db = this.#dbs[step.process] ?? this.#db
    if (step.do === 'apply') await this.#apply(db, step.submission, step.n, step.message)
    if (step.do === 'fan-out') await fanOutOf(db, DESTINATIONS).step()
    if (step.do === 'claim') await this.#claim(db, DESTINATIONS[step.destination] ?? all, step.streams, step.rowsPerStream)
    if (step.do === 'settle') await this.#settle(db, step.claim, step.sent, step.last)
    if (step.do === 'release') await this.#release(db, step.claim)
    if (step.do === 'lose') await this.#loseAll()
  }

  async finish(): Promise<void> {
    await fanAll(this.#db, DESTINATIONS)
    await this.#loseAll()
    for (const destination of DESTINATIONS) {
      for (let more = true; more; ) {
        this.#claims.length = 0
        await this.#claim(this.#db, destination, 10, 10)
        more = this.#claims.length > 0
        for (let left = this.#claims.length; left > 0; left--) await this.#settle(this.#db, 0, 10, 'delivered')
      }
    }
  }

  async #apply(db: Db, submission: number, n: number, message: boolean): Promise<void> {
    const id = uuid(9, submission)
    await applyAll(db, [message ? observedMessage(ACCOUNT, id, wireMessage(n)) : observedEvent(ACCOUNT, id, wireEvent(n))])
  }

  async #claim(db: Db, destination: TestDestination, streams: number, rowsPerStream: number): Promise<void> {
    this.#claims.push(...(await claimStreams(db, destination.name, { streams, rowsPerStream, leaseMs: LEASE_MS, uncertain: false })))
  }

  /** Sends the first `sent` rows of a claim, then reports it: a sender that lost the lease has sent them anyway. */
  async #settle(db: Db, claim: number, sent: number, last: 'delivered' | 'ready'): Promise<void> {
    const [stream] = this.#claims.splice(claim % Math.max(1, this.#claims.length), 1)
    if (!stream) return
    const tried = stream.rows.slice(0, Math.max(1, sent))
    const taken = last === 'delivered' ? tried : tried.slice(0, -1)
    for (const { seq, messageId } of taken) this.got.push({ destination: stream.destination, stream: stream.stream, seq, messageId })
    const { rows } = result({ ...stream, rows: tried }, 'delivered')
    await settleStreams(db, [{ stream, rows: rows.with(-1, { ...rows.at(-1), state: last } as RowResult), next: { type: 'due', inMs: 0 } }])
  }

  async #release(db: Db, claim: number): Promise<void> {
    const [stream] = this.#claims.splice(claim % Math.max(1, this.#claims.length), 1)
    if (stream) await releaseStreams(db, [stream], { clearUncertain: false })
  }

  async #loseAll(): Promise<void> {
    this.#clock.advance(LEASE_MS + 1)
    // Postgres has a clock of its own.
    const due_at = '2000-01-01T00:00:00.000000Z'
    if (this.#db.kind === 'postgres')
      await this.#db.write('test', (tx) => tx.sql.updateTable('sync_push_streams').set({ due_at }).execute())
  }
}

/** The first arrivals of each message are in the order of the log, per stream; all matching changes came, and no others. */
async function expectAllSent(db: Db, world: World): Promise<void> {
  const changes = await changesOf(db)
  for (const destination of DESTINATIONS) {
    const matching = changes.filter((change) => destination.entities?.includes(change.entity) ?? true)
    const rows = await outboxOf(db, destination.name)
    expect(rows.map((row) => row.seq)).toEqual(matching.map((change) => change.seq))
    expect(rows.every((row) => row.state === 'delivered')).toBe(true)
    const got = world.got.filter((one) => one.destination === destination.name)
    for (const stream of new Set(matching.map((change) => change.submission_id))) {
      const first = [...new Set(got.filter((one) => one.stream === stream).map((one) => one.seq))]
      expect(first).toEqual(matching.filter((change) => change.submission_id === stream).map((change) => change.seq))
    }
    const { kept } = await counters(db, destination.name)
    expect(kept).toEqual([0, 0, 0])
  }
  expect(await streamsIn(db)).toEqual([])
}

describe.each(testDatabases)('the outbox on $name', ({ name, open }) => {
  it.each([1, PROCESSES])(
    'invariant 14: every destination gets every change, each stream in order, despite any faults, %i at a time',
    async (atATime) => {
      const property = fc.asyncProperty(fc.array(stepArbitrary, { maxLength: 60, size: 'max' }), async (steps) => {
        const clock = new ManualClock()
        const opened = await open({ clock })
        const others: Db[] = []
        try {
          for (let n = 1; n < PROCESSES; n++) {
            others.push(opened.db.kind === 'postgres' ? await openAgain(opened.config, { clock }) : opened.db)
          }
          await fanOutOf(opened.db, DESTINATIONS).prepare()
          const world = new World([opened.db, ...others], clock)
          for (let at = 0; at < steps.length; at += atATime) {
            await Promise.all(steps.slice(at, at + atATime).map((step) => world.take(step)))
          }
          await world.finish()
          await expectAllSent(opened.db, world)
        } finally {
          for (const other of others) if (other !== opened.db) await other.close()
          await opened.close()
        }
      })
      await fc.assert(property, { numRuns: name === 'sqlite' ? 40 : 8 })
    },
  )
})

describe('invariant 13: on SQLite', () => {
  it('no transaction of the push stage awaits anything but the store', async () => {
    const rig = await PushRig.open(sqliteDatabase)
    const seen = new Set<string>()
    const slow: string[] = []
    const db = watched(rig.db, (transaction, turned) => {
      seen.add(transaction)
      if (turned) slow.push(transaction)
    })
    let answer: Outcome = delivered
    const kind = testKind({ send: () => answer })
    const late = { ...webhookTo('http://unused.example', { mapping: 'required' }), name: 'late', start: 'snapshot' } as const
    const destinations = [webhookTo('http://unused.example', { concurrency: 1 }), late]
    await ensureDestinations(db, destinations)
    const observations = (from: number) =>
      Array.from({ length: 90 }, (_, n) => observedEvent('default', uuid(9, n % 30), wireEvent(from + n)))
    await rig.apply(observations(0))
    const running = rig.start(destinations, { db, kindOf: () => kind })
    await rig.until('the snapshot is queued and the rest sent', async () => (await rig.isEmpty()) && (await isQueued(rig)))
    await storeMappings(
      db,
      Array.from({ length: 30 }, (_, n) => mappingTo('late', uuid(9, n))),
      'import',
    )
    await rig.until('the snapshot is sent', () => rig.isEmpty('late'))
    answer = { type: 'failed', permanent: true, alive: true, status: 400, error: 'answered 400', retryAfterMs: 1 }
    await rig.apply(observations(1_000))
    await rig.until('some are dead', async () => (await rig.destination()).dead > 1)
    await retryRows(db, { destination: 'ams' }, 0, 1)
    await skipRows(db, { destination: 'ams' }, 0, 100)
    await running.stop()
    expect(slow).toEqual([])
    expect([...seen].sort()).toEqual([
      'destination-state',
      'destinations',
      'outbox-claim',
      'outbox-release',
      'outbox-retry',
      'outbox-settle',
      'outbox-skip',
      'push-fan-out',
      'push-map',
      'push-snapshot',
    ])
  })
})

/** The same database; work that awaits only SQLite ends before the event loop turns. */
function watched(db: Db, heard: (transaction: string, turned: boolean) => void): Db {
  return {
    ...meddled(db, (_, go) => go()),
    write: (name, work, options) =>
      db.write(
        name,
        async (tx) => {
          let turned = false
          const turn = setImmediate(() => {
            turned = true
          })
          const result = await work(tx)
          clearImmediate(turn)
          heard(name, turned)
          return result
        },
        options,
      ),
  }
}

async function isQueued(rig: PushRig): Promise<boolean> {
  return (await rig.destination('late')).snapshot === null
}

function mappingTo(destination: string, submissionId: string): Parameters<typeof storeMappings>[1][number] {
  return { destination, account: 'default', submissionId, client: 'c', policy: null, fields: {} }
}
