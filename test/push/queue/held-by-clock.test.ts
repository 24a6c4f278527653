import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { FanOut } from '../../../src/push/queue/fan-out.ts'
import { silentLog, testDatabases } from '../../tools/databases.ts'
import { applyAll, applyEach, changesOf } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { destinationOf, openedDb, outboxOf } from '../outbox.ts'

const DAY = 86_400_000

describe.each(testDatabases)('max_age while the clocks disagree on $name', ({ open }) => {
  it('drops nothing: changes that are too old by a wrong clock wait with all later ones, and are sent when the clock is right', async () => {
    let aheadMs = 500 * DAY
    let trusted = false
    const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs }
    const db = await openedDb(open, clock)
    const destinations = [
      destinationOf('aged', { entities: ['market_events'], maxAgeMs: 30 * DAY }),
      destinationOf('other', { entities: ['market_events'] }),
    ]
    const fanOut = new FanOut({ db, log: silentLog, destinations, isClockTrusted: async () => trusted })
    await fanOut.prepare()
    const recent = { occurred_at: new Date().toISOString() }
    await applyEach(db, [1, 2, 3], (n) => observedEvent('acme', uuid(9, n), { ...wireEvent(n), ...recent }))
    const steps = async () => {
      let taken = 0
      while (await fanOut.step()) expect(++taken, 'a destination that waits does not spin').toBeLessThan(20)
      return (await outboxOf(db)).map(({ destination }) => destination)
    }
    expect(await steps()).toEqual(['other', 'other', 'other'])
    expect(await steps()).toHaveLength(3)
    aheadMs = 0
    trusted = true
    expect((await steps()).filter((name) => name === 'aged')).toHaveLength(3)
    // What is really too old is dropped, and the cursor moves past it.
    await applyAll(db, [observedEvent('acme', uuid(9, 4), { ...wireEvent(4), occurred_at: '2020-01-01T00:00:00Z' })])
    expect((await steps()).filter((name) => name === 'aged')).toHaveLength(3)
    const [aged] = await db.read.sql.selectFrom('sync_destinations').select('cursor').where('destination', '=', 'aged').execute()
    expect(aged?.cursor).toBe((await changesOf(db)).at(-1)?.seq)
  })
})
