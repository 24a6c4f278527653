import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Json } from '../../../src/model/json.ts'
import type { Observation } from '../../../src/model/observations.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  at,
  detailFact,
  idFact,
  observedEvent,
  observedMessage,
  observedState,
  START_MS,
  trackFact,
  uuid,
  wireById,
  wireDetails,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)
const [FIRST, LATER] = [timeFromMs(START_MS), timeFromMs(START_MS + 60_000)]
const stored = (minute: number) => at(minute).replace('Z', '000Z')

interface QuoteSaid {
  readonly cents?: number | null
  readonly revision?: boolean | null
  readonly lines?: Json
}

const quote = (n: number, { cents = n * 1_000, revision = false, lines = ['gl'] }: QuoteSaid = {}): Json => {
  return { quote_id: uuid(7, n), premium_display: `$${n}`, total_cents: cents, is_revision: revision, lines }
}
const lane = (n: number, quotes: Json[], over: Record<string, Json> = {}) => wireLane(n, { quotes, ...over })
const market = (n: number) => ({ name: `Market ${n}`, lane_id: uuid(3, n) })

type Answer = Readonly<Record<string, unknown>>

describe.each(testDatabases)('views for brokerages, on $name', ({ open }) => {
  async function scene() {
    const clock = new ManualClock(START_MS)
    const { db } = await closedAtEnd(open({ clock }))
    let readNo = 0
    const asked = async (text: string) => await db.read.all(sql.raw<Answer>(text))
    return {
      apply: (...facts: Observation[]) => applyAll(db, facts),
      rail: (lanes: Json[]) => applyAll(db, [observedState(ACCOUNT, ID, wireRequirements(ID, lanes), ++readNo, START_MS + readNo)]),
      /** A bind request of a status that names a quote. */
      bind: (n: number, status: string, quoteNo: number, over: Record<string, Json> = {}) => {
        const wire = { ...wireById(ID).bind_request, bind_request_id: uuid(14, n), status, quote_id: uuid(7, quoteNo), policy_id: null }
        return applyAll(db, [idFact(ACCOUNT, ID, 'bind_request', uuid(14, n), { ...wire, ...over }, ++readNo)])
      },
      later: () => clock.advance(60_000),
      asked,
      /** Each quote as `<lane>.<quote> <may be superseded> <is the bound one>`. */
      quotes: async () => {
        const rows = await asked('select lane_id, quote_id, may_be_superseded, is_bound_quote from quote_board order by lane_id, quote_id')
        const digit = (id: unknown) => String(id).slice(-1)
        const flags = (row: Answer) => `${flag(row['may_be_superseded'])} ${flag(row['is_bound_quote'])}`
        return rows.map((row) => `${digit(row['lane_id'])}.${digit(row['quote_id'])} ${flags(row)}`)
      },
      overview: async () => (await asked('select * from submission_overview'))[0],
    }
  }

  const flag = (value: unknown) => (value === null ? null : Boolean(value))

  it('a quote may be superseded by a revision of its lane and lines that was first seen later', async () => {
    const { rail, later, quotes, asked, overview } = await scene()
    await rail([lane(1, [quote(1), quote(2, { lines: ['auto'] })]), lane(2, [quote(3)])])
    later()
    await rail([lane(1, [quote(1), quote(2, { lines: ['auto'] }), quote(4, { revision: true })]), lane(2, [quote(3)])])
    expect(await quotes()).toEqual(['1.1 true false', '1.2 false false', '1.4 false false', '2.3 false false'])
    const seen = await asked('select first_seen_at from quote_board order by quote_id')
    expect(seen.map((row) => row['first_seen_at'])).toEqual([FIRST, FIRST, FIRST, LATER])
    expect(await overview()).toMatchObject({ quote_count: 4, lowest_current_quote_cents: 2_000, lowest_current_market: 'Market 1' })
    expect(await asked('select quote_count, lowest_current_quote_cents from lane_board order by lane_id')).toEqual([
      { quote_count: 3, lowest_current_quote_cents: 2_000 },
      { quote_count: 1, lowest_current_quote_cents: 3_000 },
    ])
  })

  it('it is unknown for quotes that were first seen together, which count as current', async () => {
    const { rail, quotes, overview } = await scene()
    await rail([lane(1, [quote(1), quote(2, { revision: true })])])
    expect(await quotes()).toEqual(['1.1 null false', '1.2 false false'])
    expect(await overview()).toMatchObject({ lowest_current_quote_cents: 1_000 })
  })

  it('two revisions leave each other alone; a revision that came before, one that is gone, and one of unknown kind replace nothing', async () => {
    const { rail, later, quotes } = await scene()
    await rail([lane(1, [quote(1, { revision: true })])])
    later()
    await rail([lane(1, [quote(1, { revision: true }), quote(2), quote(3, { revision: null })])])
    later()
    await rail([lane(1, [quote(1, { revision: true }), quote(2), quote(3, { revision: null }), quote(4, { revision: true, lines: null })])])
    const expected = [1, 2, 3, 4].map((n) => `1.${n} false false`)
    expect(await quotes()).toEqual(expected)
    later()
    await rail([lane(1, [quote(1, { revision: true }), quote(2), quote(5, { revision: true })])])
    expect(await quotes()).toEqual(['1.1 false false', '1.2 true false', '1.5 false false'])
    later()
    await rail([lane(1, [quote(1, { revision: true }), quote(2)])])
    expect(await quotes()).toEqual(['1.1 false false', '1.2 false false'])
  })

  it("quotes without lines have the same lines; those with other lines, or another order, don't", async () => {
    const { rail, later, quotes } = await scene()
    const before = [quote(1, { lines: null }), quote(2, { lines: ['gl', 'auto'] }), quote(3, { lines: ['auto', 'gl'] })]
    await rail([lane(1, before)])
    later()
    await rail([lane(1, [...before, quote(4, { lines: null, revision: true }), quote(5, { lines: ['auto', 'gl'], revision: true })])])
    const found = ['1.1 true false', '1.2 false false', '1.3 true false', '1.4 false false', '1.5 false false']
    expect(await quotes()).toEqual(found)
  })

  it('a lane is bound at its only current quote, or at the one that a bound bind request names', async () => {
    const { rail, later, quotes, overview, bind } = await scene()
    await rail([lane(1, [quote(1)]), lane(2, [quote(9)])])
    later()
    await rail([lane(1, [quote(1), quote(2, { revision: true })], { bound: true }), lane(2, [quote(9)])])
    expect(await quotes()).toEqual(['1.1 true false', '1.2 false true', '2.9 false false'])
    expect(await overview()).toMatchObject({ bound_lane_count: 1, bound_market_name: 'Market 1', bound_premium_cents: 2_000 })
    await bind(1, 'bound', 1)
    expect(await quotes()).toEqual(['1.1 true true', '1.2 false false', '2.9 false false'])
    expect(await overview()).toMatchObject({ bound_market_name: 'Market 1', bound_premium_cents: 1_000 })
  })

  it('the bound quote of a lane with two current quotes is unknown until a bound bind request names one', async () => {
    const { rail, quotes, overview, bind } = await scene()
    await rail([lane(1, [quote(1), quote(2)], { bound: true })])
    const unknown = ['1.1 false null', '1.2 false null']
    expect(await quotes()).toEqual(unknown)
    expect(await overview()).toMatchObject({ bound_market_name: 'Market 1', bound_premium_cents: null })
    await bind(1, 'sent', 2)
    expect(await quotes()).toEqual(unknown)
    await bind(1, 'bound', 2)
    expect(await quotes()).toEqual(['1.1 false false', '1.2 false true'])
    expect(await overview()).toMatchObject({ bound_premium_cents: 2_000 })
  })

  it('a bound bind request counts before the lane is bound; two bound markets give none', async () => {
    const { rail, quotes, overview, bind } = await scene()
    await rail([lane(1, [quote(1)]), lane(2, [quote(2)])])
    expect(await overview()).toMatchObject({ bound_market_name: null, bound_premium_cents: null, policy_id: null })
    await bind(1, 'bound', 1, { policy_id: uuid(15, 1) })
    expect(await quotes()).toEqual(['1.1 false true', '2.2 false false'])
    expect(await overview()).toMatchObject({ bound_market_name: 'Market 1', bound_premium_cents: 1_000, policy_id: uuid(15, 1) })
    await bind(2, 'bound', 2, { policy_id: uuid(15, 2) })
    expect(await overview()).toMatchObject({ bound_market_name: null, bound_premium_cents: null, policy_id: null })
  })

  it('a quote in two lanes gives its bind request no market', async () => {
    const { rail, asked, overview, bind } = await scene()
    const board = () => asked('select lane_id, market_name, total_cents from bind_board')
    const items = () => asked("select distinct market_name, lane_id, bind_status from open_items where source <> 'outstanding'")
    await bind(1, 'drafted', 1)
    expect(await board()).toEqual([{ lane_id: null, market_name: null, total_cents: null }])
    await rail([lane(1, [quote(1)]), lane(2, [])])
    expect(await board()).toEqual([{ lane_id: uuid(3, 1), market_name: 'Market 1', total_cents: 1_000 }])
    expect(await items()).toEqual([{ market_name: 'Market 1', lane_id: uuid(3, 1), bind_status: 'drafted' }])
    await rail([lane(1, [quote(1)]), lane(2, [quote(1, { cents: 5 })])])
    expect(await board()).toEqual([{ lane_id: null, market_name: null, total_cents: null }])
    expect(await items()).toEqual([{ market_name: null, lane_id: null, bind_status: 'drafted' }])
    await bind(1, 'bound', 1)
    expect(await overview()).toMatchObject({ bound_market_name: null, bound_premium_cents: null })
  })

  it('items of a bind request are open until it ends; one under review by the service has not ended', async () => {
    const { rail, asked, bind } = await scene()
    await rail([lane(1, [quote(1)])])
    const open = async () => (await asked('select source from open_items order by source')).map((row) => row['source'])
    for (const status of ['drafted', 'bind_failed', 'a status that nobody knows']) {
      await bind(1, status, 1)
      expect(await open(), status).toEqual(['bind assumption', 'bind contingency'])
    }
    for (const status of ['bound', 'cancelled', 'declined', 'expired']) {
      await bind(1, status, 1)
      expect(await open(), status).toEqual([])
    }
  })

  it('items of a market name its lane; items of the submission name only markets', async () => {
    const { apply, asked } = await scene()
    const needs = { needs_from_you: ['Payroll'], hedge_obtains: [] }
    const markets = [
      { market_name: 'Market 1', ready: false, lane_id: uuid(3, 1), ...needs },
      { market_name: 'Market 2', ready: true, lane_id: uuid(3, 2), ...needs },
    ]
    await apply(
      observedState(ACCOUNT, ID, wireRequirements(ID, [lane(1, []), lane(2, [])], { markets }), 1),
      detailFact(ACCOUNT, ID, 'outstanding', wireDetails(ID).outstanding, 1),
    )
    expect(await asked('select source, market_name, lane_id, bind_request_id, bind_status from open_items order by source')).toEqual([
      { source: 'market', market_name: 'Market 1', lane_id: uuid(3, 1), bind_request_id: null, bind_status: null },
      { source: 'outstanding', market_name: 'Market 1', lane_id: null, bind_request_id: null, bind_status: null },
    ])
  })

  it('a lane shows when it was attached, first quoted and ended, from its own events', async () => {
    const { apply, rail, asked } = await scene()
    const event = (n: number, type: string, lane_id: string | null) =>
      observedEvent(ACCOUNT, ID, wireEvent(n, { type }, { ...market(1), lane_id }))
    await rail([lane(1, [quote(1)]), lane(2, []), lane(3, [])])
    const [one, two] = [uuid(3, 1), uuid(3, 2)]
    await apply(
      event(1, 'status_changed', one),
      event(2, 'market_attached', one),
      event(92, 'quote_received', one),
      event(95, 'quote_received', one),
      event(3, 'market_attached', two),
      event(4, 'declined', two),
      event(99, 'declined', null),
    )
    const board = () =>
      asked(`select first_event_at, attached_at, first_quote_at, ended_at, last_event_at, hours_to_quote from lane_board order by lane_id`)
    const times = ({ first_event_at, attached_at, first_quote_at, ended_at, last_event_at, hours_to_quote }: Answer) => {
      return [first_event_at, attached_at, first_quote_at, ended_at, last_event_at, hours_to_quote]
    }
    expect((await board()).map(times)).toEqual([
      [stored(1), stored(2), stored(92), null, stored(95), 1.5],
      [stored(3), stored(3), null, stored(4), stored(4), null],
      [null, null, null, null, null, null],
    ])
    // The lane continues, and ends again.
    await apply(event(5, 'status_changed', two), event(96, 'bound', one))
    expect((await board()).map((row) => row['ended_at'])).toEqual([stored(96), null, null])
    await apply(event(6, 'withdrawn', two))
    expect((await board())[1]).toMatchObject({ ended_at: stored(6), last_event_at: stored(6) })
    // An event that the service no longer shows does not count.
    const none = { messages: [], attachments: [], events: [uuid(1, 6), uuid(1, 5)] }
    await apply({ kind: 'absent', account: ACCOUNT, submissionId: ID, cause: 'reconcile', goneAt: FIRST, ...none })
    expect((await board())[1]).toMatchObject({ ended_at: stored(4), last_event_at: stored(4) })
    await rail([lane(2, [])])
    expect(await board()).toHaveLength(1)
  })

  it('lane_lines has a row for each line of a lane, and one for a lane without lines', async () => {
    const { rail, asked } = await scene()
    const bound = wireLane(1, { lines: ['gl', 'auto'], bound: true, chip: 'bound' })
    await rail([bound, wireLane(2, { lines: [] }), wireLane(3, { lines: null, chip: null })])
    const rows = await asked('select market_name, line, chip, bound from lane_lines order by lane_id, line')
    expect(rows.map((row) => ({ ...row, bound: flag(row['bound']) }))).toEqual([
      { market_name: 'Market 1', line: 'auto', chip: 'bound', bound: true },
      { market_name: 'Market 1', line: 'gl', chip: 'bound', bound: true },
      { market_name: 'Market 2', line: null, chip: 'in_progress', bound: false },
      { market_name: 'Market 3', line: null, chip: null, bound: false },
    ])
    const sums =
      'select line, sum(case when bound then 1 else 0 end) as bound, count(*) as lanes from lane_lines group by line order by lanes'
    expect(await asked(sums)).toEqual([
      ...(await asked('select line, 1 as bound, 1 as lanes from lane_lines where line is not null order by line')),
      { line: null, bound: 0, lanes: 2 },
    ])
  })

  it('a submission without lanes has counts of 0, and is in no board', async () => {
    const { apply, asked, overview } = await scene()
    await apply(trackFact(ACCOUNT, ID))
    const row = (await overview()) ?? {}
    for (const name of ['lane_count', 'quote_count', 'document_count', 'document_failed_count'])
      expect([name, row[name]]).toEqual([name, 0])
    for (const name of ['lowest_current_quote_cents', 'lowest_current_market', 'bound_market_name', 'bound_premium_cents', 'policy_id'])
      expect([name, row[name]]).toEqual([name, null])
    expect(row['last_activity_at']).toBeNull()
    for (const view of ['lane_board', 'lane_lines', 'quote_board', 'bind_board', 'open_items'])
      expect(await asked(`select * from ${view}`)).toEqual([])
  })

  it('documents are counted, and the index shows when a missing one is fetched next', async () => {
    const { apply, asked, overview } = await scene()
    await apply(observedMessage(ACCOUNT, ID, wireMessage(1)))
    const waiting = { document_count: 1, document_failed_count: 0, documents_missing: 1, last_activity_at: stored(1) }
    expect(await overview()).toMatchObject(waiting)
    expect(await asked('select state, error, tried_at, retry_at from document_index')).toEqual([
      { state: 'waiting', error: null, tried_at: null, retry_at: expect.any(String) },
    ])
    const failed = { documentKey: uuid(4, 1), triedAt: LATER, stored: null, error: 'the answer is empty' }
    await apply({ kind: 'document', account: ACCOUNT, submissionId: ID, cause: 'poll', ...failed })
    expect(await overview()).toMatchObject({ document_count: 1, document_failed_count: 1 })
    expect(await asked('select state, error, tried_at from document_index')).toEqual([
      { state: 'failed', error: 'the answer is empty', tried_at: LATER },
    ])
  })
})
