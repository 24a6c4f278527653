import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { quoteHistory } from '../../src/model/entities/quote-history.ts'
import { quotes } from '../../src/model/entities/quotes.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import type { Json } from '../../src/model/json.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { type ViewPart, viewParts } from '../../src/model/view.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import { applyAll, rowsOf } from '../tools/mirror.ts'
import {
  observedEvent,
  observedState,
  START_MS,
  uuid,
  wireEvent,
  wireLane,
  wireReadiness,
  wireRequirements,
} from '../tools/observations.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)
const parts = Object.keys(viewParts) as ViewPart[]
const quote = { quote_id: uuid(7, 1), premium_display: '$1,200', total_cents: 120_000, lines: [], is_revision: false }
const item = { history_key: 'h-1', market_name: 'Market 0', program: null, outcome: 'expired', observed_at: '2026-01-05T12:00:00Z' }

describe.each(testDatabases)('a view that does not say everything, on $name', ({ open }) => {
  let opened: OpenedDatabase
  let readNo = 0
  const see = (railLanes: Json[] | null, over: Record<string, Json> = {}, rail: Record<string, Json> = {}) =>
    applyAll(opened.db, [observedState(ACCOUNT, ID, wireRequirements(ID, railLanes, over, rail), ++readNo)])
  const gone = async (entity: typeof lanes | typeof quotes | typeof quoteHistory) =>
    (await rowsOf(opened.db, entity)).map((row) => row['gone_at'] !== null)

  beforeEach(async () => {
    opened = await open()
    await see([wireLane(0, { quotes: [quote] }), wireLane(1)], {}, { quote_history: [item] })
  })
  afterEach(() => opened.close())

  it('trap 58: a lane that cannot be read makes nothing gone: the list was not wholly read', async () => {
    await see([wireLane(0, { quotes: [quote] }), { ...wireLane(1), submission_market_id: 'lane-1' }, null])
    expect(await gone(lanes)).toEqual([false, false])
    await see([wireLane(0, { quotes: [quote] })])
    expect(await gone(lanes)).toEqual([false, true])
  })

  it('trap 58: a lane that does not speak of its quotes, or not so that all can be read, loses none', async () => {
    const { quotes: _, ...silent } = wireLane(0)
    await see([silent, wireLane(1)])
    await see([wireLane(0, { quotes: null }), wireLane(1)])
    await see([wireLane(0, { quotes: [{ premium_display: 'no id' }] }), wireLane(1)])
    expect(await gone(quotes)).toEqual([false])
    await see([wireLane(0, { quotes: [] }), wireLane(1)])
    expect(await gone(quotes)).toEqual([true])
  })

  it('what hung on a lane is gone with it', async () => {
    await see([wireLane(1)])
    expect(await gone(lanes)).toEqual([true, false])
    expect(await gone(quotes)).toEqual([true])
  })

  it('trap 65: a history with one unreadable item loses none', async () => {
    await see([wireLane(0, { quotes: [quote] }), wireLane(1)], {}, { quote_history: [{ outcome: 'invalid' }] })
    expect(await gone(quoteHistory)).toEqual([false])
    await see([wireLane(0, { quotes: [quote] }), wireLane(1)], {}, { quote_history: [] })
    expect(await gone(quoteHistory)).toEqual([true])
  })

  it('a column that the view leaves out keeps its value; one that it says to be null, or not so that it can be read, loses it', async () => {
    const { insured_name: _, state: __, ...bare } = wireRequirements(ID, null)
    await applyAll(opened.db, [observedState(ACCOUNT, ID, bare, ++readNo)])
    const row = { insured_name: 'Harbour Bakery LLC', state: 'TX', lines: ['general_liability'] }
    expect(await rowsOf(opened.db, submissions)).toMatchObject([row])
    await see(null, { state: null, lines: 'not a list' })
    expect(await rowsOf(opened.db, submissions)).toMatchObject([{ ...row, state: null, lines: null }])
  })

  it('the same holds for lanes and for what hangs on them', async () => {
    await see([wireLane(0, { status: 'quoted', next_step: 'Sign', quotes: [quote] }), wireLane(1)], {}, { quote_history: [item] })
    const [lane] = await rowsOf(opened.db, lanes)
    const bare = { submission_market_id: lane?.['lane_id'] ?? null }
    await see([{ ...bare, quotes: [{ quote_id: quote.quote_id }] }, wireLane(1)], {}, { quote_history: [{ history_key: 'h-1' }] })
    // A service that sends no nulls means the same by missing values.
    expect((await rowsOf(opened.db, lanes))[0]).toEqual({ ...lane, next_step: null, raw: expect.stringContaining('quotes') })
    expect(await rowsOf(opened.db, quotes)).toMatchObject([{ premium_display: '$1,200', total_cents: 120_000, is_revision: false }])
    expect(await rowsOf(opened.db, quoteHistory)).toMatchObject([{ market_name: 'Market 0', outcome: 'expired' }])
    await see([{ ...bare, next_step: null, quotes: [{ quote_id: quote.quote_id, total_cents: 12.5 }] }, wireLane(1)])
    expect((await rowsOf(opened.db, lanes))[0]).toMatchObject({ status: 'quoted', next_step: null })
    expect(await rowsOf(opened.db, quotes)).toMatchObject([{ premium_display: '$1,200', total_cents: null }])
  })

  it('invariant 5: a lane that the rail names has no state but that of the rail, whether its event came before or after', async () => {
    const event = observedEvent(ACCOUNT, ID, wireEvent(1, { status: 'declined' }, { lane_id: uuid(3, 7), name: 'Acme' }))
    const named = { submission_market_id: uuid(3, 7), chip: 'not_available' }
    const laneAfter = async () => (await rowsOf(opened.db, lanes)).find((row) => row['lane_id'] === uuid(3, 7))
    await applyAll(opened.db, [event])
    await see([wireLane(0), wireLane(1), named])
    const lane = await laneAfter()
    expect(lane).toMatchObject({ status: null, market_name: null, chip: 'not_available', state_source: 'rail' })
    await opened.close()
    opened = await open()
    await see([wireLane(0), wireLane(1), named])
    await applyAll(opened.db, [event])
    expect(await laneAfter()).toEqual(lane)
  })

  it.each([
    ['a null rail', { rail: null }, ['rail', 'quote_history']],
    ['a null assessment', { assessment: null }, ['assessment']],
    ['an unavailable history', { rail: { lanes: [], quote_history: [], quote_history_unavailable: true } }, ['quote_history']],
    ['no lanes yet', { marketing_status: 'matching', rail: { lanes: [], quote_history: [] } }, ['rail', 'quote_history']],
  ] as const)('%s leaves the time at which that part was read', async (_, given, left) => {
    const [earlier, later] = [timeFromMs(START_MS), timeFromMs(START_MS + 60_000)]
    const whole = wireRequirements(ID, [], wireReadiness(ID))
    await applyAll(opened.db, [observedState(ACCOUNT, ID, whole, ++readNo, START_MS)])
    await applyAll(opened.db, [observedState(ACCOUNT, ID, { ...whole, ...given }, ++readNo, START_MS + 60_000)])
    const { sql } = opened.db.read
    const times = sql
      .selectFrom('submission_overview')
      .select(['state_read_at', 'rail_read_at', 'quote_history_read_at', 'assessment_read_at'])
    const freshness = await sql.selectFrom('freshness').select(['read', 'last_read_at']).where('read', 'in', parts).execute()
    const expected = parts.map((part) => [part, left.some((name) => name === part) ? earlier : later] as const)
    expect(await times.executeTakeFirst()).toEqual({
      state_read_at: later,
      ...Object.fromEntries(expected.map(([part, at]) => [`${part}_read_at`, at])),
    })
    expect(new Map(freshness.map(({ read, last_read_at }) => [read, last_read_at]))).toEqual(new Map(expected))
  })
})
