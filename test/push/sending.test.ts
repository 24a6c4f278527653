import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { silentObserver } from '../../src/observe.ts'
import { Courier } from '../../src/push/courier.ts'
import { Gate } from '../../src/push/gate.ts'
import { Sending } from '../../src/push/sending.ts'
import { Settler } from '../../src/push/settler.ts'
import { Wake } from '../../src/push/wake.ts'
import type { Db } from '../../src/store/db.ts'
import { settleLanes } from '../../src/store/outbox-work.ts'
import { silentLog as log, testDatabases } from '../tools/databases.ts'
import { eventFact, uuid, wireEvent } from '../tools/facts.ts'
import { applyAll } from '../tools/mirror.ts'
import { testKind } from './kind.ts'
import { ACCOUNT, destinationOf, fanAll, mapByHand, openedDb } from './outbox.ts'
import { webhookTo } from './rig.ts'

const destination = webhookTo('http://unused.example', { mapping: 'required' })

function sendingOf(db: Db, clock: ManualClock): Sending {
  const common = { db, clock, log, observer: silentObserver, destination, kind: testKind() }
  const gate = new Gate(common)
  const { signal } = new AbortController()
  const settler = new Settler({ db, clock, log, destination: destination.name, gatherMs: () => 0, over: signal })
  const courier = new Courier({ ...common, gate })
  return new Sending({ ...common, gate, courier, settler, wake: new Wake(clock), stopping: signal, over: signal })
}

describe.each(testDatabases)('claiming on $name', ({ open }) => {
  it('lets lanes go on whose mapping somebody wrote into the table, looking for such rows every ten seconds', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await applyAll(
      db,
      [1, 2].map((n) => eventFact(ACCOUNT, uuid(9, n), wireEvent(n))),
    )
    await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
    const sending = sendingOf(db, clock)
    const claimed = async () => (await sending.claim(10, 10)).lanes
    const waiting = (await claimed()).map((lane) => ({ lane, rows: [], next: { type: 'blocked', as: 'unmapped' } }) as const)
    expect(waiting).toHaveLength(2)
    await settleLanes(db, waiting)
    await mapByHand(db, uuid(9, 2), 'C-2')
    expect(await claimed()).toEqual([])
    clock.advance(9_999)
    expect(await claimed()).toEqual([])
    clock.advance(1)
    expect((await claimed()).map((lane) => [lane.lane, lane.rows[0]?.mapping?.client])).toEqual([[uuid(9, 2), 'C-2']])
  })
})
