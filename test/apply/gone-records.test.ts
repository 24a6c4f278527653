import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import type { Observation } from '../../src/model/observations.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, rowsOf } from '../tools/mirror.ts'
import { at, byPoll, byWebhook, observedEvent, observedMessage, trackFact, uuid, wireEvent, wireMessage } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)
const about = { account: ACCOUNT, submissionId: ID, cause: 'reconcile' } as const
const event = (n: number, origin = byPoll) => observedEvent(ACCOUNT, ID, wireEvent(n, {}, { lane_id: uuid(3, 1) }), origin)

/** Findings of a reconcile run about records that two full re-reads did not show. */
function gone(events: readonly string[], messages: readonly string[], goneAt = '2026-02-01T00:00:00.000000Z'): Observation[] {
  return [{ kind: 'absent', ...about, events, messages, attachments: [], goneAt }]
}

const derived: Observation = { kind: 'derived', ...about, now: '2026-02-01T00:00:00.000000Z' }
const stored = (minute: number) => at(minute).replace('Z', '000Z')

describe.each(testDatabases)('what follows from records that are gone, on $name', ({ open }) => {
  async function database(): Promise<Db> {
    const { db } = await closedAtEnd(open())
    return db
  }

  async function theLane(db: Db) {
    const [lane] = await rowsOf(db, lanes)
    return lane
  }

  it('invariant 5: a lane is in the state of its newest event that is not gone, and gone without one', async () => {
    const db = await database()
    await applyAll(db, [event(1), event(2)])
    await applyAll(db, gone([uuid(1, 2)], []))
    await applyAll(db, [derived])
    expect(await theLane(db)).toMatchObject({ state_event_id: uuid(1, 1), gone_at: null })
    expect(await rowsOf(db, submissions)).toMatchObject([{ last_event_at: stored(1) }])
    await applyAll(db, gone([uuid(1, 1)], []))
    await applyAll(db, [derived])
    expect(await theLane(db)).toMatchObject({ gone_at: '2026-02-01T00:00:00.000000Z' })
    expect(await rowsOf(db, submissions)).toMatchObject([{ last_event_at: null }])
  })

  it('invariant 7: keep the time at which they were marked first', async () => {
    const db = await database()
    await applyAll(db, [event(1), observedMessage(ACCOUNT, ID, wireMessage(3))])
    for (const goneAt of ['2026-02-01T00:00:00.000000Z', '2026-02-02T00:00:00.000000Z']) {
      await applyAll(db, gone([uuid(1, 1)], [uuid(2, 3)], goneAt))
    }
    for (const entity of [marketEvents, threadMessages])
      expect(await rowsOf(db, entity)).toMatchObject([{ gone_at: '2026-02-01T00:00:00.000000Z' }])
  })

  it('stay in the timeline, which shows since when they are gone', async () => {
    const db = await database()
    await applyAll(db, [event(1), event(2), observedMessage(ACCOUNT, ID, wireMessage(3))])
    await applyAll(db, gone([uuid(1, 2)], []))
    const rows = await db.read.all(sql<{ record_id: string; gone_at: string | null }>`
      select record_id, gone_at from activity_timeline order by occurred_at`)
    expect(rows).toEqual([
      { record_id: uuid(1, 1), gone_at: null },
      { record_id: uuid(1, 2), gone_at: '2026-02-01T00:00:00.000000Z' },
      { record_id: uuid(2, 3), gone_at: null },
    ])
  })

  it('a delivery that repeats one changes nothing; a feed that shows it, or an older one, brings it back', async () => {
    const db = await database()
    await applyAll(db, [event(2), observedMessage(ACCOUNT, ID, wireMessage(2))])
    await applyAll(db, gone([uuid(1, 2)], [uuid(2, 2)]))
    await applyAll(db, [derived])
    const tables = async () => [await rowsOf(db, lanes), await rowsOf(db, submissions), await rowsOf(db, marketEvents)]
    const before = [...(await tables()), await rowsOf(db, threadMessages)]
    await applyAll(db, [event(2, byWebhook), observedMessage(ACCOUNT, ID, wireMessage(2))])
    expect([...(await tables()), await rowsOf(db, threadMessages)]).toEqual(before)
    await applyAll(db, [event(1)])
    expect(await theLane(db)).toMatchObject({ state_event_id: uuid(1, 1), gone_at: null })
    await applyAll(db, [event(2)])
    expect(await theLane(db)).toMatchObject({ state_event_id: uuid(1, 2), gone_at: null })
    expect(await rowsOf(db, submissions)).toMatchObject([{ last_event_at: stored(2), last_message_at: null, last_activity_at: stored(2) }])
    await applyAll(db, [observedMessage(ACCOUNT, ID, wireMessage(2), byPoll)])
    expect(await rowsOf(db, submissions)).toMatchObject([{ last_message_at: stored(2) }])
  })

  it('the last activity is the later of the newest event and the newest message that are not gone', async () => {
    const db = await database()
    const activity = async () => (await rowsOf(db, submissions))[0]?.['last_activity_at']
    await applyAll(db, [trackFact(ACCOUNT, ID)])
    expect(await activity()).toBeNull()
    await applyAll(db, [observedMessage(ACCOUNT, ID, wireMessage(3))])
    expect(await activity()).toBe(stored(3))
    await applyAll(db, [event(2)])
    expect(await activity()).toBe(stored(3))
    await applyAll(db, [event(4)])
    expect(await activity()).toBe(stored(4))
    await applyAll(db, gone([uuid(1, 4)], []))
    await applyAll(db, [derived])
    expect(await activity()).toBe(stored(3))
    await applyAll(db, gone([uuid(1, 2)], [uuid(2, 3)]))
    await applyAll(db, [derived])
    expect(await activity()).toBeNull()
  })

  it('a lane whose row is missing from the mirror is computed from its newest event', async () => {
    const db = await database()
    await applyAll(db, [event(1), event(2)])
    const before = await theLane(db)
    await db.write('test', (tx) => tx.sql.deleteFrom('lanes').execute())
    await applyAll(db, [derived])
    expect(await theLane(db)).toEqual(before)
  })
})
