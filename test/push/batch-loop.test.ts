import { describe, expect, it } from 'vitest'
import { TransientError } from '../../src/errors.ts'
import { BatchLoop } from '../../src/push/batch-loop.ts'
import { testDatabases } from '../tools/databases.ts'
import { eventFact, uuid, wireEvent } from '../tools/facts.ts'
import { applyAll } from '../tools/mirror.ts'
import { testKind } from './kind.ts'
import { meddled } from './meddled.ts'
import { ACCOUNT, destinationOf, fanAll, lanesIn, openedDb, outboxOf } from './outbox.ts'
import { webhookTo } from './rig.ts'
import { sendingOf } from './sending-parts.ts'

/** Lanes that are claimed at a time, and one more. */
const LANES = 33

describe.each(testDatabases)('a batch on $name', ({ open }) => {
  it('gives back what it has gathered when no more can be claimed', async () => {
    const db = await openedDb(open)
    const facts = Array.from({ length: LANES }, (_, n) => eventFact(ACCOUNT, uuid(9, n + 1), wireEvent(n + 1)))
    await applyAll(db, facts)
    await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
    let claims = 0
    const failing = meddled(db, async (name, go) => {
      if (name === 'outbox-claim' && ++claims === 2) throw new TransientError('the store is away')
      return go()
    })
    const batch = { type: 'many', maxItems: 1_000, gatherMs: 0 } as const
    const kind = testKind({ batch })
    const loop = new BatchLoop(sendingOf(failing, webhookTo('http://unused.example', { idempotent: false }), kind), batch)
    await expect(loop.run()).rejects.toThrow('the store is away')
    expect(kind.calls).toEqual([])
    const lanes = await lanesIn(db)
    expect(lanes).toHaveLength(LANES)
    expect(lanes.filter(({ lease_token: token }) => token !== null)).toEqual([])
    expect((await outboxOf(db)).filter(({ uncertain }) => uncertain === 1)).toEqual([])
  })
})
