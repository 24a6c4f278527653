import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { lanes } from '../../src/model/entities/lanes.ts'
import { quoteHistory } from '../../src/model/entities/quote-history.ts'
import { quotes } from '../../src/model/entities/quotes.ts'
import { sourceOffers } from '../../src/model/entities/source-offers.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { parseExact } from '../../src/model/exact-json.ts'
import type { Json } from '../../src/model/json.ts'
import { timeFromMs } from '../../src/model/time.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import { at, observedEvent, observedState, START_MS, uuid, wireEvent, wireLane, wireRequirements } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)
const quote = (n: number, cents: Json = 120_000) => ({
  quote_id: uuid(7, n),
  premium_display: '$1,200',
  total_cents: cents,
  lines: ['gl'],
  is_revision: false,
})
const offer = (n: number) => ({
  presentation_id: uuid(8, n),
  kind: 'quote',
  label: 'Proposal',
  document_url: 'https://elsewhere.example/x',
  filename: 'x.pdf',
})
const history = (n: number) => ({ history_key: `key ${n}`, market_name: 'A', program: null, outcome: 'expired', observed_at: at(n) })

async function present(db: Db, entity: typeof lanes | typeof quotes | typeof sourceOffers | typeof quoteHistory): Promise<unknown[]> {
  const last = entity.key.at(-1) ?? ''
  return (await rowsOf(db, entity)).filter((row) => row['gone_at'] === null).map((row) => row[last])
}

describe.each(testDatabases)('requirements views on $name', ({ open }) => {
  async function database(): Promise<Db> {
    const { db } = await closedAtEnd(open())
    return db
  }

  let readNo = 0
  function view(laneList: Json[] | null, over = {}, rail = {}) {
    readNo += 1
    return observedState(ACCOUNT, ID, wireRequirements(ID, laneList, over, rail), readNo, START_MS + readNo)
  }

  const full = () =>
    view([wireLane(1, { quotes: [quote(1)], source_offers: [offer(1)] }), wireLane(2)], {}, { quote_history: [history(1), history(2)] })

  it('invariant 7: lanes missing from the rail are marked gone, never deleted, and can come back', async () => {
    const db = await database()
    await applyAll(db, [full()])
    await applyAll(db, [view([wireLane(2)])])
    expect(await present(db, lanes)).toEqual([uuid(3, 2)])
    for (const entity of [quotes, sourceOffers, quoteHistory]) expect(await present(db, entity), entity.table).toEqual([])
    expect(await rowsOf(db, lanes)).toHaveLength(2)
    expect(await rowsOf(db, quotes)).toHaveLength(1)
    const gone = (await changesOf(db)).filter((change) => change.operation === 'gone').map((change) => change.entity)
    expect(gone.sort()).toEqual(['documents', 'lanes', 'quote_history', 'quote_history', 'quotes', 'source_offers'])
    const before = await changesOf(db)
    await applyAll(db, [view([wireLane(2)])])
    expect(await changesOf(db), 'gone already').toEqual(before)
    await applyAll(db, [full()])
    expect(await present(db, lanes)).toEqual([uuid(3, 1), uuid(3, 2)])
    expect(await present(db, quotes)).toEqual([uuid(7, 1)])
    expect(await present(db, quoteHistory)).toEqual(['key 1', 'key 2'])
  })

  it('a quote keeps when it was first seen, while it is shown, when it is gone, and when it comes back', async () => {
    const clock = new ManualClock(START_MS)
    const { db } = await closedAtEnd(open({ clock }))
    const seen = async () => (await rowsOf(db, quotes)).map((row) => row['first_seen_at'])
    await applyAll(db, [view([wireLane(1, { quotes: [quote(1), quote(2)] })])])
    const first = timeFromMs(START_MS)
    expect(await seen()).toEqual([first, first])
    clock.advance(60_000)
    await applyAll(db, [view([wireLane(1, { quotes: [quote(1, 130_000), quote(3)] })])])
    clock.advance(60_000)
    await applyAll(db, [view([wireLane(1, { quotes: [quote(2)] })])])
    expect(await seen()).toEqual([first, first, timeFromMs(START_MS + 60_000)])
  })

  it('trap 59: a status is any text, with its label', async () => {
    const db = await database()
    await applyAll(db, [
      view([wireLane(1, { status: 'on_the_moon', status_label: 'On the moon', chip: 'lunar' })], { marketing_status: 'pondering' }),
    ])
    expect(await rowsOf(db, lanes)).toMatchObject([{ status: 'on_the_moon', status_label: 'On the moon', chip: 'lunar' }])
    expect(await rowsOf(db, submissions)).toMatchObject([{ marketing_status: 'pondering' }])
  })

  it('trap 62: an empty list while matching takes nothing away', async () => {
    const db = await database()
    await applyAll(db, [full()])
    await applyAll(db, [view([], { marketing_status: 'matching' })])
    expect(await present(db, lanes)).toHaveLength(2)
    expect(await present(db, quotes)).toHaveLength(1)
    expect(await present(db, quoteHistory)).toHaveLength(2)
    expect(await rowsOf(db, submissions)).toMatchObject([{ marketing_status: 'matching' }])
  })

  it('trap 62: what an empty list while matching comes with is taken over', async () => {
    const db = await database()
    await applyAll(db, [full()])
    await applyAll(db, [view([], { marketing_status: 'matching' }, { quote_history: [history(2), history(3)] })])
    expect(await present(db, quoteHistory)).toEqual(['key 1', 'key 2', 'key 3'])
  })

  it('trap 63: an empty list when matched is one', async () => {
    const db = await database()
    await applyAll(db, [full()])
    await applyAll(db, [view([], { marketing_status: 'matched' })])
    expect(await present(db, lanes)).toEqual([])
  })

  it('trap 64: without a rail the last known lanes stay, and the rest is applied', async () => {
    const db = await database()
    await applyAll(db, [full()])
    const { rail: _, ...absent } = wireRequirements(ID, null, { state: 'AZ' })
    for (const wire of [wireRequirements(ID, null, { state: 'NM' }), absent]) {
      readNo += 1
      await applyAll(db, [observedState(ACCOUNT, ID, wire, readNo)])
      expect(await present(db, lanes)).toHaveLength(2)
      expect(await present(db, quotes)).toHaveLength(1)
    }
    expect(await rowsOf(db, submissions)).toMatchObject([{ state: 'AZ' }])
  })

  it('trap 65: a history that is unavailable is not an empty one', async () => {
    const db = await database()
    await applyAll(db, [full()])
    await applyAll(db, [view([wireLane(1)], {}, { quote_history: [], quote_history_unavailable: true })])
    expect(await present(db, quoteHistory)).toEqual(['key 1', 'key 2'])
    await applyAll(db, [view([wireLane(1)], {}, { quote_history: [history(2)], quote_history_unavailable: false })])
    expect(await present(db, quoteHistory)).toEqual(['key 2'])
  })

  it('trap 66: the lane of an event and the lane of the rail are one', async () => {
    const db = await database()
    await applyAll(db, [observedEvent(ACCOUNT, ID, wireEvent(1, {}, { lane_id: uuid(3, 1) }))])
    await applyAll(db, [view([wireLane(1)])])
    expect(await rowsOf(db, lanes)).toMatchObject([{ lane_id: uuid(3, 1), state_source: 'rail' }])
    // A lane known only from events was never in the rail, and is not gone from it.
    await applyAll(db, [observedEvent(ACCOUNT, ID, wireEvent(5, {}, { lane_id: uuid(3, 5) }))])
    await applyAll(db, [view([wireLane(1)])])
    expect(await present(db, lanes)).toEqual([uuid(3, 1), uuid(3, 5)])
  })

  it('trap 69: money is whole cents of any size, and is never read from the displayed text', async () => {
    const db = await database()
    const cents = [0, 1, 2 ** 53 - 1, 12.5, '100', null]
    await applyAll(db, [view([wireLane(1, { quotes: cents.map((total, n) => quote(n, total)) })])])
    expect((await rowsOf(db, quotes)).map((row) => row['total_cents'])).toEqual([0, 1, 2 ** 53 - 1, null, null, null])
  })

  it('trap 58: numbers are in raw as received, and a view with only a later creation time is equal', async () => {
    const db = await database()
    const wire = (generated_at: string, number: string) =>
      JSON.stringify(wireRequirements(ID, [wireLane(1, { quotes: [quote(1, '#')] })], {}, { generated_at })).replace('"#"', number)
    const apply = async (text: string) => {
      readNo += 1
      return (await applyAll(db, [observedState(ACCOUNT, ID, parseExact(text), readNo)])).rawOnly.map(({ entity }) => entity)
    }
    const first = wire(at(0), '12345678901234567890')
    await apply(first)
    expect(await apply(wire(at(1), '12345678901234567890'))).toEqual([])
    expect((await rowsOf(db, submissions))[0]?.['raw']).toBe(first)
    expect((await rowsOf(db, quotes))[0]).toMatchObject({ total_cents: null, raw: expect.stringContaining(':12345678901234567890,') })
    const before = await changesOf(db)
    expect((await apply(wire(at(2), '12345678901234567891'))).sort()).toEqual(['lanes', 'quotes', 'submissions'])
    expect(await changesOf(db)).toEqual(before)
  })

  it('trap 58: an id of any length is a key: one too long for an index is stored as its hash', async () => {
    const db = await database()
    // Random, because Postgres compresses repetitions.
    const [long, other] = [randomBytes(6_000).toString('hex'), randomBytes(6_000).toString('hex')]
    const lane = wireLane(1, {
      quotes: [long, other].map((quote_id) => ({ ...quote(1), quote_id })),
      source_offers: [{ ...offer(1), presentation_id: long }],
    })
    await applyAll(db, [view([lane], {}, { quote_history: [{ ...history(1), history_key: long }] })])
    const hash = `sha256:${createHash('sha256').update(long).digest('hex')}`
    expect(await present(db, quotes)).toHaveLength(2)
    expect(await present(db, quotes)).toContain(hash)
    expect(await present(db, sourceOffers)).toEqual([hash])
    expect(await present(db, quoteHistory)).toEqual([hash])
    expect((await rowsOf(db, quoteHistory))[0]?.['raw']).toContain(long)
  })

  it('trap 58: a view that nests too deep to be compared is taken over', async () => {
    const db = await database()
    const deep = (n: number) => {
      const fact = view([wireLane(1)])
      const raw = `{"odd":${'['.repeat(5_000)}${n}${']'.repeat(5_000)}}`
      return { ...fact, view: { ...fact.view, submission: { ...fact.view.submission, raw } } }
    }
    await applyAll(db, [deep(1)])
    await applyAll(db, [deep(2)])
    expect((await rowsOf(db, submissions))[0]?.['raw']).toBe(deep(2).view.submission.raw)
  })

  it('trap 77: hedge_obtains is in raw under its own name', async () => {
    const db = await database()
    await applyAll(db, [view([], { markets: [{ market_name: 'A', ready: true, needs_from_you: [], hedge_obtains: ['Loss runs'] }] })])
    const [row] = await rowsOf(db, submissions)
    expect(JSON.parse(String(row?.['raw']))).toMatchObject({ markets: [{ hedge_obtains: ['Loss runs'] }] })
  })

  it('trap 81: a view that was requested earlier and arrives later changes nothing', async () => {
    const db = await database()
    const [early, late] = [
      view([wireLane(1, { status: 'early' })], { state: 'TX' }),
      view([wireLane(1, { status: 'late' })], { state: 'NM' }),
    ]
    expect(await applyAll(db, [late])).toMatchObject({ stale: 0 })
    const before = await changesOf(db)
    expect(await applyAll(db, [early])).toMatchObject({ stale: 1, changes: 0 })
    expect(await applyAll(db, [late])).toMatchObject({ stale: 1 })
    expect(await changesOf(db)).toEqual(before)
    expect(await rowsOf(db, lanes)).toMatchObject([{ status: 'late' }])
  })

  it('two views in one transaction end as the later alone', async () => {
    const db = await database()
    await applyAll(db, [full(), view([wireLane(2)])])
    expect(await present(db, lanes)).toEqual([uuid(3, 2)])
    expect(await present(db, quotes)).toEqual([])
    expect(await present(db, quoteHistory)).toEqual([])
  })
})
