import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { isOfReason, reasonOf } from '../../../src/model/failure-reasons.ts'
import { failedRows, searchOutbox } from '../../../src/store/outbox/queries.ts'
import { type ClaimedStream, claimStreams, settleStreams } from '../../../src/store/outbox/work.ts'
import { ACCOUNT, destinationOf, fanAll, openedDb, result } from '../../push/outbox.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, trackFact, uuid, wireEvent } from '../../tools/observations.ts'

const IDS = [1, 2, 3, 4, 5].map((n) => uuid(9, n))
const ams = destinationOf('ams', { entities: ['market_events'] })

it('a reason leaves out ids and numbers, and finds the failures that it was made of', () => {
  const [one, two] = ['answered 422 (policy P-17 missing)', 'answered 422 (policy P-4.2 missing)']
  expect(reasonOf(one)).toBe('answered 422 (policy … missing)')
  expect(reasonOf(two)).toBe(reasonOf(one))
  for (const text of [one, two, 'x'.repeat(400), `connect ECONNREFUSED 127.0.0.1:443`]) expect(isOfReason(text, reasonOf(text))).toBe(true)
  expect(isOfReason('answered 503 (policy P-17 missing)', reasonOf(one))).toBe(false)
  expect(isOfReason('answered 422 (policy P-17 missing) twice', reasonOf(one))).toBe(false)
  expect(isOfReason('ab', 'ab…b')).toBe(false)
})

describe.each(testDatabases)('failures of a destination on $name', ({ open }) => {
  it('are its rows that are dead, of unknown outcome, or were tried, and a search finds them', async () => {
    const db = await openedDb(open)
    await applyAll(db, [...IDS.map((id) => trackFact(ACCOUNT, id)), ...IDS.map((id) => observedEvent(ACCOUNT, id, wireEvent(1)))])
    await fanAll(db, [ams])
    const streams = await claimStreams(db, 'ams', { streams: 10, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
    const outcome = (stream: ClaimedStream, n: number) => {
      if (n === 0) return result(stream, 'delivered')
      if (n === 1 || n === 2) return result(stream, 'dead', { status: 422, error: `answered 422 (policy P-${n} missing)` })
      if (n === 3) return result(stream, 'unknown', { status: null, error: 'no answer' })
      return result(stream, 'ready', { status: 503, error: 'answered 503' }, { type: 'due', inMs: 60_000 })
    }
    await settleStreams(db, streams.map(outcome))
    const { rows, hasMore } = await failedRows(db.read, 'ams', 10)
    expect(rows.map(({ state, status }) => [state, status])).toEqual([
      ['dead', 422],
      ['dead', 422],
      ['unknown', null],
      ['retrying', 503],
    ])
    expect(hasMore).toBe(false)
    const few = await failedRows(db.read, 'ams', 1)
    expect([few.rows.length, few.hasMore]).toEqual([3, true])
    expect((await failedRows(db.read, 'crm', 1)).rows).toEqual([])

    const found = async (search: { text?: string | undefined; reason?: string }, limit = 10) =>
      await searchOutbox(db.read, { destination: 'ams' }, { ...search, errorOf: ({ error }) => error }, limit)
    expect((await found({ reason: reasonOf('answered 422 (policy P-1 missing)') })).items.map(({ state }) => state)).toEqual([
      'dead',
      'dead',
    ])
    expect((await found({ text: 'NO ANSWER' })).items).toHaveLength(1)
    expect((await found({ text: IDS[0] })).items).toHaveLength(1)
    await runSql(db, sql`update submissions set insured_name = 'Castañeda' where submission_id = ${IDS[1]}`)
    expect((await found({ text: 'castaneda' })).items.map(({ submission_id }) => submission_id)).toEqual([IDS[1]])
    const page = await found({ text: 'market events' }, 2)
    expect([page.items.length, page.after]).toEqual([2, page.items[1]?.outbox_id])
  })
})
