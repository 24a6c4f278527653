import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { byPoll, eventFact, stateFact, uuid, wireEvent, wireLane, wireRequirements } from '../tools/facts.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)
/** A mirror with two events and a lane, to which something is done that only SQLite lets anybody do. */
async function damaged(...statements: readonly string[]): Promise<Db> {
  const { db, close } = await sqliteDatabase.open()
  onTestFinished(close)
  await applyAll(db, [event(1, { detail: 'Kept' }), event(2), stateFact(ACCOUNT, ID, wireRequirements(ID, [wireLane(1)]), 1)])
  await db.write('test', async (tx) => {
    for (const statement of statements) await sql.raw(statement).execute(tx.sql)
  })
  return db
}

function event(n: number, over = {}, market = {}) {
  return eventFact(ACCOUNT, ID, wireEvent(n, over, market), byPoll)
}

it('what a column cannot hold contradicts nothing: the next that comes takes its place', async () => {
  const db = await damaged(
    `update market_events set market_lines = 'zzz', detail = x'7a7a7a', occurred_at = 'never' where event_id = '${uuid(1, 1)}'`,
    `update lanes set lines = 'zzz', submit_ready = 4711 where lane_id = '${uuid(3, 1)}'`,
  )
  const last = (await changesOf(db)).length
  await applyAll(db, [event(1, { detail: 'Kept' }), stateFact(ACCOUNT, ID, wireRequirements(ID, [wireLane(1)]), 2)])
  expect((await rowsOf(db, marketEvents))[0]).toMatchObject({ market_lines: ['general_liability'], detail: 'Kept' })
  expect((await rowsOf(db, lanes))[0]).toMatchObject({ lines: ['general_liability'], submit_ready: true })
  expect((await changesOf(db)).slice(last)).toMatchObject([
    { before: { market_lines: 'zzz', detail: "x'7a7a7a'", occurred_at: 'never' }, after: { market_lines: ['general_liability'] } },
    { before: { lines: 'zzz', submit_ready: 4711 }, after: { lines: ['general_liability'], submit_ready: true } },
  ])
  expect(await db.read.sql.selectFrom('sync_conflicts').selectAll().execute()).toEqual([])
})

it('what is not said anew stays as it stands while others of its table are written', async () => {
  const db = await damaged(`update market_events set detail = x'7a7a7a' where event_id = '${uuid(1, 1)}'`)
  await applyAll(db, [event(1, { detail: null, status_label: 'Other' }), event(2, { detail: 'Filled' })])
  const { rows } = await sql`select typeof(detail) as type, status_label from market_events order by event_id`.execute(db.read.sql)
  expect(rows).toEqual([
    { type: 'blob', status_label: 'Other' },
    { type: 'text', status_label: 'In progress' },
  ])
})
