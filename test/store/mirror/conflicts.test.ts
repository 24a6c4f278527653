import { describe, expect, it } from 'vitest'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import {
  type Arrival,
  type Conflict,
  noteArrivals,
  noteConflicts,
  noteUnreadable,
  type Unreadable,
} from '../../../src/store/mirror/conflicts.ts'
import { testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const NOW = '2026-01-05T12:00:00.000000Z'
const LATER = '2026-01-05T13:00:00.000000Z'
const place = { account: 'acme', submission_id: uuid(9, 1) }
const conflict: Conflict = {
  ...place,
  entity: 'thread_messages',
  record_id: uuid(2, 1),
  fields: ['body_text'],
  identity: '[2]',
  kept: '{"n":1}',
  refused: '{"n":2}',
  via: 'poll',
}
const unreadable: Unreadable = { ...place, read: 'events', raw: '{"id":1}' }
const arrival: Arrival = { ...place, entity: 'market_events', record_id: uuid(1, 1), way: 'webhook' }

describe.each(testDatabases)('conflicts on $name', ({ open }) => {
  async function database(): Promise<Db> {
    const { db } = await closedAtEnd(open())
    return db
  }

  function note<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
    return db.write('test-note', work)
  }

  it('of a conflict is stored once, and each different one as well', async () => {
    const db = await database()
    const other = { ...conflict, identity: '[3]', refused: '{"n":3}' }
    expect(await note(db, (tx) => noteConflicts(tx, [conflict, conflict, other], NOW))).toBe(2)
    expect(await note(db, (tx) => noteConflicts(tx, [conflict, other], LATER))).toBe(0)
    const rows = await db.read.sql.selectFrom('sync_conflicts').selectAll().orderBy('refused').execute()
    expect(rows).toMatchObject([
      { fields: 'body_text', kept: '{"n":1}', refused: '{"n":2}', via: 'poll', seen_at: NOW },
      { refused: '{"n":3}', seen_at: NOW },
    ])
  })

  it('trap 36: of one id in two accounts are two conflicts', async () => {
    const db = await database()
    const other = { account: 'acme-staging' }
    expect(await note(db, (tx) => noteConflicts(tx, [conflict, { ...conflict, ...other }], NOW))).toBe(2)
    expect(await note(db, (tx) => noteUnreadable(tx, [unreadable, { ...unreadable, ...other }], NOW))).toBe(2)
    await note(db, (tx) => noteArrivals(tx, [arrival, { ...arrival, ...other }], NOW))
    expect(await db.read.sql.selectFrom('sync_arrivals').selectAll().execute()).toHaveLength(2)
  })

  it('of an unreadable item is stored once', async () => {
    const db = await database()
    expect(await note(db, (tx) => noteUnreadable(tx, [unreadable, unreadable, { ...unreadable, read: 'thread' }], NOW))).toBe(2)
    expect(await note(db, (tx) => noteUnreadable(tx, [unreadable], LATER))).toBe(0)
  })

  it('of items that change with each read is stored up to a thousand per feed', async () => {
    const db = await database()
    const page = (first: number, read: Unreadable['read']): Unreadable[] =>
      Array.from({ length: 200 }, (_, n) => ({ ...unreadable, read, raw: `{"at":${first + n}}` }))
    const kept: number[] = []
    for (let n = 0; n < 7; n++) kept.push(await note(db, (tx) => noteUnreadable(tx, page(n * 200, 'events'), NOW)))
    expect(kept).toEqual([200, 200, 200, 200, 200, 0, 0])
    expect(await note(db, (tx) => noteUnreadable(tx, page(0, 'thread'), NOW))).toBe(200)
  })

  it('of a record that changes each time is stored up to a hundred per record', async () => {
    const db = await database()
    const forty = (first: number, record_id: string): Conflict[] =>
      Array.from({ length: 40 }, (_, n) => ({ ...conflict, record_id, identity: `[${first + n}]` }))
    const kept: number[] = []
    for (let n = 0; n < 5; n++) kept.push(await note(db, (tx) => noteConflicts(tx, forty(n * 40, uuid(2, 1)), NOW)))
    expect(kept).toEqual([40, 40, 40, 0, 0])
    const both = [...forty(200, uuid(2, 1)), ...forty(0, uuid(2, 2))]
    expect(await note(db, (tx) => noteConflicts(tx, both, NOW))).toBe(40)
  })

  it('of an arrival is stored once for each way, with its first time', async () => {
    const db = await database()
    await note(db, (tx) => noteArrivals(tx, [arrival, arrival], NOW))
    await note(db, (tx) => noteArrivals(tx, [arrival, { ...arrival, way: 'feed' }], LATER))
    const rows = await db.read.sql.selectFrom('sync_arrivals').select(['way', 'first_at']).orderBy('way').execute()
    expect(rows).toEqual([
      { way: 'feed', first_at: LATER },
      { way: 'webhook', first_at: NOW },
    ])
  })
})
