import { expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Observer } from '../../../src/base/observer.ts'
import type { TimeText } from '../../../src/model/time.ts'
import { Reports } from '../../../src/push/send/reports.ts'
import type { OutboxRow } from '../../../src/store/outbox/work.ts'
import { silentLog } from '../../tools/databases.ts'

const row: OutboxRow = {
  outboxId: 1,
  messageId: 'm',
  account: 'default',
  submissionId: 's',
  entity: 'quotes',
  entityId: '["s","q"]',
  operation: 'insert',
  cause: 'poll',
  seq: 7,
  snapshot: false,
  changedAt: '2026-11-21T12:00:00.000000Z' as TimeText,
  before: null,
  after: {},
  afterText: '{}',
  attempts: 0,
  status: null,
  uncertain: false,
  resent: null,
  remoteId: null,
  mapping: null,
  leftFilter: false,
  submission: null,
  direction: null,
}

it('counts how long a change took to a destination, and not what is a snapshot or is sent again', () => {
  const timed: [name: string, seconds: number][] = []
  const observer: Observer = { count() {}, set() {}, time: (name, seconds) => timed.push([name, seconds]) }
  const reports = new Reports(new ManualClock(Date.UTC(2026, 10, 21, 12, 0, 3)), silentLog, observer, 'ams')
  const plan = { row: { state: 'delivered', attempts: 1, error: null, status: 200 } } as Parameters<Reports['attempted']>[2]
  const outcome = { type: 'delivered' } as Parameters<Reports['attempted']>[1]
  for (const sent of [row, { ...row, snapshot: true }, { ...row, resent: 'same' }, { ...row, resent: 'new' }] as const)
    reports.attempted(sent, outcome, plan)
  expect(timed).toEqual([['push_lag_seconds', 3]])
})
