import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { findDestination } from '../../../src/store/outbox/destinations.ts'
import { knownAmong, type PassedRecord, passedText, type SentRecord, sentAmong, storePassed } from '../../../src/store/outbox/passed.ts'
import type { OutboxState } from '../../../src/store/schema/push.ts'
import { ACCOUNT, destinationOf, fanAll, openedDb } from '../../push/outbox.ts'
import { insertRows, testDatabases } from '../../tools/databases.ts'
import { applyEach } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'

const ONE = uuid(9, 1)

function eventNamed(n: number): SentRecord {
  return { account: ACCOUNT, submissionId: ONE, entity: 'market_events', entityId: JSON.stringify([ONE, uuid(1, n)]) }
}

/** A database with an outbox row in each of these states, for events 1, 2, … */
async function dbWith(open: Parameters<typeof openedDb>[0], ...states: readonly OutboxState[]) {
  const db = await openedDb(open)
  await applyEach(db, states, (_, index) => observedEvent(ACCOUNT, ONE, wireEvent(index + 1)))
  await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
  await db.write('test', async (tx) => {
    for (const [index, state] of states.entries())
      await tx.run(sql`update sync_outbox set state = ${state} where entity_id = ${eventNamed(index + 1).entityId}`)
  })
  return db
}

const textsOf = (records: readonly PassedRecord[]) => records.map(passedText).sort()

describe.each(testDatabases)('records sent to a destination, on $name', ({ open }) => {
  it('are those waiting, delivered or possibly delivered, and those with a remote id', async () => {
    const db = await dbWith(open, 'ready', 'delivered', 'unknown', 'dead', 'skipped', 'dead')
    const row = { destination: 'ams', account: ACCOUNT, entity: 'market_events', stored_at: '2026-03-04T05:06:07.000000Z' }
    await insertRows(db, 'sync_remote_ids', { ...row, entity_id: eventNamed(6).entityId, remote_id: 'r-6' })
    const asked = [1, 2, 3, 4, 5, 6, 7].map(eventNamed)
    expect(textsOf(await sentAmong(db.read, 'ams', asked))).toEqual(textsOf([1, 2, 3, 6].map(eventNamed)))
    expect(await sentAmong(db.read, 'other', asked)).toEqual([])
    expect(await sentAmong(db.read, 'ams', [{ ...eventNamed(1), submissionId: null }])).toEqual([])
    expect(await sentAmong(db.read, 'ams', [])).toEqual([])
  })

  it('counts only before there was a filter, and where the filter has said nothing', async () => {
    const db = await dbWith(open, 'delivered', 'delivered')
    const left = { ...eventNamed(2), isIn: false, seq: 2, through: 2 }
    await db.write('test', (tx) => storePassed(tx, 'ams', [left]))
    const state = await findDestination(db.read, 'ams')
    if (state === null) throw new Error('no destination')
    const { passed, unstored, isPartial } = await knownAmong(db.read, state, [1, 2, 3].map(eventNamed))
    expect([...passed.values()].map(({ isIn, seq }) => ({ isIn, seq }))).toEqual([
      { isIn: false, seq: 2 },
      { isIn: true, seq: 0 },
    ])
    expect([textsOf(unstored), isPartial]).toEqual([textsOf([eventNamed(1)]), true])
    const begun = await knownAmong(db.read, { ...state, filtered_from: 0 }, [1, 2, 3].map(eventNamed))
    expect(begun).toMatchObject({ unstored: [], isPartial: false })
    expect(begun.passed.size).toBe(1)
  })
})
