import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/model/json.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  at,
  idFact,
  observedEvent,
  observedState,
  uuid,
  wireById,
  wireEvent,
  wireLane,
  wireRequirements,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const SUBMISSION = uuid(9, 1)
const { ids, bind_request: wireBind, policy: wirePolicy } = wireById(SUBMISSION)
const QUOTE = uuid(7, 1)

const quote: Json = { quote_id: QUOTE, premium_display: '$1,250', total_cents: 125_000, lines: ['general_liability'], is_revision: false }
const state = (lanes: Json[], readNo = 1) =>
  observedState(ACCOUNT, SUBMISSION, wireRequirements(SUBMISSION, lanes, { insured_id: ids.insured }), readNo)
const oneLane = state([wireLane(1, { quotes: [quote] }), wireLane(2)])
const policy = (policyId = ids.policy, submissionId = SUBMISSION) =>
  idFact(ACCOUNT, submissionId, 'policy', policyId, { ...wirePolicy, policy_id: policyId, submission_id: submissionId }, 1)
const bind = (over: Record<string, Json> = {}, submissionId = SUBMISSION) => {
  const wire: Record<string, Json> = { ...wireBind, submission_id: submissionId, ...over }
  return idFact(ACCOUNT, submissionId, 'bind_request', String(wire['bind_request_id']), wire, 1)
}
const bound = (n: number, lane = 1) => observedEvent(ACCOUNT, SUBMISSION, wireEvent(n, { type: 'bound' }, { lane_id: uuid(3, lane) }))
const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

const whole = {
  account: ACCOUNT,
  policy_id: ids.policy,
  submission_id: SUBMISSION,
  insured_id: ids.insured,
  insured_name: 'Harbour Bakery LLC',
  bind_request_id: ids.bind_request,
  lane_id: uuid(3, 1),
  market_name: 'Market 1',
  bound_at: time(20),
  premium_cents: 125_000,
  policy_number: 'POL-1',
  carrier_name: 'Alder Insurance',
  effective_date: '2026-03-01',
  expiration_date: '2027-03-01',
  total_billed_cents: 131_500,
  commission_cents: 18_750,
}
const unknown = { lane_id: null, market_name: null, bound_at: null, premium_cents: null }

describe.each(testDatabases)('policy_board on $name', (database) => {
  async function boardOf(facts: Parameters<typeof applyAll>[1], then?: (db: Db) => Promise<unknown>) {
    const { db } = await closedAtEnd(database.open())
    await applyAll(db, facts)
    await then?.(db)
    return await rowsOf(db)
  }

  it("shows a policy's market, last bind time, premium and record fields", async () => {
    expect(
      await boardOf([oneLane, bind(), policy(), bound(10), bound(20), bound(30, 2), observedEvent(ACCOUNT, SUBMISSION, wireEvent(40))]),
    ).toEqual([whole])
  })

  it('has a policy without a bind request, and one of an unknown submission', async () => {
    const [first, second] = [ids.policy, uuid(15, 2)]
    const board = await boardOf([oneLane, bound(20), policy(first), policy(second, uuid(9, 7))])
    expect(board.sort((a, b) => (String(a['policy_id']) < String(b['policy_id']) ? -1 : 1))).toEqual([
      { ...whole, ...unknown, bind_request_id: null },
      { ...whole, ...unknown, policy_id: second, submission_id: uuid(9, 7), bind_request_id: null, insured_name: null },
    ])
  })

  it('shows no market when two lanes have the quote, or none has', async () => {
    const lanes = [wireLane(1, { quotes: [quote] }), wireLane(2, { quotes: [quote] })]
    expect(await boardOf([state(lanes), bind(), policy(), bound(20)])).toEqual([{ ...whole, ...unknown }])
    expect(await boardOf([oneLane, bind({ quote_id: uuid(7, 9) }), policy(), bound(20)])).toEqual([{ ...whole, ...unknown }])
    expect(await boardOf([oneLane, bind({ quote_id: null }), policy(), bound(20)])).toEqual([{ ...whole, ...unknown }])
  })

  it('keeps the market of a quote that the service no longer shows', async () => {
    expect(await boardOf([oneLane, bind(), policy(), bound(20), state([wireLane(1)], 2)])).toEqual([whole])
  })

  it('shows no time without an event `bound` of the lane, or with one that is gone', async () => {
    const gone = (db: Db) => runSql(db, sql`update market_events set gone_at = ${time(60)} where event_id = ${uuid(1, 20)}`)
    expect(await boardOf([oneLane, bind(), policy(), bound(30, 2), bound(20)], gone)).toEqual([{ ...whole, bound_at: null }])
  })

  it('leaves out a policy that is gone, and ignores a bind request that is gone', async () => {
    const gone = (table: string) => (db: Db) => runSql(db, sql`update ${sql.table(table)} set gone_at = ${time(60)}`)
    expect(await boardOf([oneLane, bind(), policy(), bound(20)], gone('policies'))).toEqual([])
    expect(await boardOf([oneLane, bind(), policy(), bound(20)], gone('bind_requests'))).toEqual([
      { ...whole, ...unknown, bind_request_id: null },
    ])
  })

  it('has one row, from the last requested bind request of any submission', async () => {
    const later = { bind_request_id: uuid(14, 2), requested_at: at(5), quote_id: uuid(7, 9) }
    const undated = { bind_request_id: uuid(14, 3), requested_at: null }
    expect(await boardOf([oneLane, bind(undated), bind(), bind(later), policy(), bound(20)])).toEqual([
      { ...whole, ...unknown, bind_request_id: uuid(14, 2) },
    ])
    // The same id in two submissions: no row comes twice.
    expect(await boardOf([oneLane, bind(), bind({}, uuid(9, 2)), policy(), bound(20)])).toEqual([whole])
  })

  it('is looked up only by indexes, by policy and by submission', async () => {
    const { db } = await closedAtEnd(database.open())
    await applyAll(db, [oneLane, bind(), policy(), bound(20)])
    for (const where of [`policy_id = '${ids.policy}'`, `submission_id = '${SUBMISSION}'`]) {
      const plan = await planOf(db, `select * from policy_board where account = '${ACCOUNT}' and ${where}`)
      expect(plan.filter((step) => /SEARCH|Index/.test(step)).length, where).toBeGreaterThan(6)
      expect(
        plan.filter((step) => /^\W*SCAN|Seq Scan/.test(step)),
        where,
      ).toEqual([])
    }
  })
})

async function rowsOf(db: Db): Promise<Record<string, unknown>[]> {
  return await db.read.all(sql<Record<string, unknown>>`select * from policy_board`)
}

/** On Postgres without the scans that it prefers while tables are small. */
async function planOf(db: Db, statement: string): Promise<string[]> {
  if (db.kind === 'sqlite') {
    const rows = await db.read.all(sql<{ detail: string }>`explain query plan ${sql.raw(statement)}`)
    return rows.map(({ detail }) => detail)
  }
  return await db.write('test', async (tx) => {
    await tx.run(sql`set local enable_seqscan = off`)
    const rows = await tx.all(sql<Record<string, string>>`explain ${sql.raw(statement)}`)
    return rows.map((row) => String(row['QUERY PLAN']))
  })
}
