import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Row } from '../../../src/model/entity.ts'
import { FilteredFanOut } from '../../../src/push/queue/filtered-fan-out.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { presentRows } from '../../../src/store/outbox/present-rows.ts'
import type { Columns } from '../../../src/store/schema/tables.ts'
import { openAgain, silentLog, testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { ACCOUNT, type TestDestination } from '../outbox.ts'
import { BOUND, fanFiltered, filteredTo, heldBy, showLanes } from './filtered.ts'

const FILTER = `(${BOUND}) or (entity = "market_events" and row.detail != null)`
const SUBMISSIONS = 2
const PROCESSES = 2

type Deed =
  | { readonly do: 'lanes'; readonly submission: number; readonly chips: readonly (string | null)[] }
  | { readonly do: 'event'; readonly submission: number; readonly n: number; readonly detail: string | null }
  | { readonly do: 'step'; readonly process: number; readonly dies: 'no' | 'before' | 'after' }

const submission = fc.nat(SUBMISSIONS - 1)
const chip = fc.constantFrom('bound', 'bound', 'quoted', null)
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('lanes' as const), submission, chips: fc.tuple(chip, chip, chip) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('event' as const), submission, n: fc.nat(3), detail: fc.constantFrom(null, 'told') }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('step' as const),
      process: fc.nat(PROCESSES - 1),
      dies: fc.constantFrom('no' as const, 'no' as const, 'before' as const, 'after' as const),
    }),
  },
)

/** Processes that fan out to one destination, and can be killed. */
class World {
  readonly #db: Db
  readonly #fanOuts: FilteredFanOut[]
  #dies: Extract<Deed, { do: 'step' }>['dies'] = 'no'

  constructor(dbs: readonly [Db, ...Db[]], destination: TestDestination) {
    this.#db = dbs[0]
    const isClockTrusted = async () => true
    this.#fanOuts = dbs.map(
      (db) => new FilteredFanOut({ db: this.#mortal(db), log: silentLog, destination, filter: destination.filter ?? '', isClockTrusted }),
    )
  }

  async take(step: Deed): Promise<void> {
    if (step.do === 'lanes') {
      const chips = step.chips.flatMap((each, n) => (each === null ? [] : [[n, each] as const]))
      await showLanes(this.#db, uuid(9, step.submission), Object.fromEntries(chips))
    }
    if (step.do === 'event') {
      const id = uuid(9, step.submission)
      await applyAll(this.#db, [observedEvent(ACCOUNT, id, wireEvent(10 * step.submission + step.n, { detail: step.detail }))])
    }
    if (step.do === 'step') {
      this.#dies = step.dies
      await this.#fanOuts[step.process]?.step().catch(() => undefined)
      this.#dies = 'no'
    }
  }

  async finish(): Promise<void> {
    for (const each of this.#fanOuts) await fanFiltered(each)
  }

  close(): void {
    for (const each of this.#fanOuts) each.close()
  }

  /** Dies with the next transaction that queues: before its commit, or before its result is known. */
  #mortal(db: Db): Db {
    return meddled(db, async (name, go) => {
      const dies = name.startsWith('push-') ? this.#dies : 'no'
      if (dies === 'before') throw new Error('killed')
      const done = await go()
      if (dies === 'after') throw new Error('killed')
      return done
    })
  }
}

async function passing(db: Db): Promise<Map<string, Row>> {
  const lanes = await db.read.all(sql<Columns<'lanes', 'submission_id' | 'lane_id'>>`
    select submission_id, lane_id from lanes where chip = 'bound' and gone_at is null`)
  const events = await db.read.all(sql<Columns<'market_events', 'submission_id' | 'event_id'>>`
    select submission_id, event_id from market_events where detail is not null`)
  const named = (entity: string, key: readonly string[]) => ({ account: ACCOUNT, entity, entityId: JSON.stringify(key) })
  const records = [
    ...lanes.map((row) => named('lanes', [row.submission_id, row.lane_id])),
    ...events.map((row) => named('market_events', [row.submission_id, row.event_id])),
  ]
  const rows = await presentRows(db.read, records)
  return new Map([...rows].map(([key, { after }]) => [(JSON.parse(key) as string[]).slice(1).join(' '), after]))
}

describe.each(testDatabases)('invariant 3: a destination with a filter, on $name', ({ name, open }) => {
  it.each(['snapshot', 0] as const)('has exactly what passes now, despite any changes and kills; it starts with %s', async (start) => {
    const property = fc.asyncProperty(fc.array(deed, { maxLength: 30, size: 'max' }), async (deeds) => {
      const opened = await open()
      const others: Db[] = []
      for (let n = 1; n < PROCESSES; n++) others.push(opened.db.kind === 'postgres' ? await openAgain(opened.config) : opened.db)
      const world = new World([opened.db, ...others], filteredTo(FILTER, { start }))
      try {
        for (const each of deeds) await world.take(each)
        await world.finish()
        const held = await heldBy(opened.db, 'some')
        const passes = await passing(opened.db)
        expect(Object.fromEntries(held)).toEqual(Object.fromEntries(passes))
      } finally {
        world.close()
        for (const other of others) if (other !== opened.db) await other.close()
        await opened.close()
      }
    })
    await fc.assert(property, { numRuns: name === 'sqlite' ? 20 : 5 })
  })
})
