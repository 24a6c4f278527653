import { describe, expect, it } from 'vitest'
import { type TimeText, timeFromMs } from '../../../src/model/time.ts'
import { deliveriesBehind } from '../../../src/store/inbox/causes.ts'
import { insertRows, testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const START_MS = Date.UTC(2026, 0, 5, 12)
const at = (seconds: number): TimeText => timeFromMs(START_MS + seconds * 1_000)
const SUBMISSION = uuid(9, 1)

describe.each(testDatabases)('the deliveries behind a change, on $name', (database) => {
  it('are those of its submission that were being processed when it was stored, the oldest first', async () => {
    const { db } = await closedAtEnd(database.open())
    const add = (delivery_id: string, from: number, until: number | null, over: object = {}) => ({
      account: 'acme',
      delivery_id,
      received_at: at(from),
      headers: '{}',
      body: null,
      secret: 1,
      state: until === null ? ('ready' as const) : ('done' as const),
      attempts: 1,
      available_at: at(from),
      lease_token: null,
      submission_id: SUBMISSION,
      kind: null,
      what: null,
      error: null,
      settled_at: until === null ? null : at(until),
      ...over,
    })
    const deliveries = [
      add('long before', 0, 10),
      add('first', 50, 101),
      add('second', 99, 100),
      add('waiting', 99, null),
      add('of another', 99, 100, { submission_id: uuid(9, 2) }),
      add('of another account', 99, 100, { account: 'other' }),
      add('later', 110, 111),
    ]
    await insertRows(db, 'sync_inbox', deliveries)
    const found = await deliveriesBehind(db.read, { account: 'acme', submissionId: SUBMISSION, changedAt: at(100) })
    expect(found).toEqual(['first', 'second'].map((deliveryId) => ({ account: 'acme', deliveryId })))
    expect(await deliveriesBehind(db.read, { account: 'acme', submissionId: SUBMISSION, changedAt: at(60) })).toEqual([
      { account: 'acme', deliveryId: 'first' },
    ])
  })
})
