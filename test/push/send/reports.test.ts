import { expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Observer } from '../../../src/base/observer.ts'
import { Reports } from '../../../src/push/send/reports.ts'
import { silentLog, sqliteDatabase } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { destinationTo } from '../http/support.ts'
import { outboxRow } from '../outbox.ts'
import { startReceiver } from '../receiver.ts'
import { PushRig } from '../rig.ts'

const row = outboxRow()

it('measures the time of a change to a destination, without snapshots and resent changes', () => {
  const timed: [name: string, seconds: number][] = []
  const observer: Observer = { count() {}, set() {}, time: (name, seconds) => timed.push([name, seconds]) }
  const clock = new ManualClock(Date.UTC(2026, 10, 21, 12, 0, 3))
  const reports = new Reports({ db: {} as never, clock, log: silentLog, observer, destination: { name: 'ams' } })
  const plan = { row: { state: 'delivered', attempts: 1, error: null, status: 200 } } as Parameters<Reports['attempted']>[2]
  const outcome = { type: 'delivered' } as Parameters<Reports['attempted']>[1]
  for (const sent of [row, { ...row, snapshot: true }, { ...row, resent: 'same' }, { ...row, resent: 'new' }] as const)
    reports.attempted(sent, outcome, plan)
  expect(timed).toEqual([['push_lag_seconds', 3]])
})

const SAID = 'Call Jane Doe at home'

it.each([
  ['refuses the message', 422, {}, 50],
  ['breaks down', 500, {}, 20],
  ['asks for a pause', 429, {}, 20],
  ['refuses the credential', 403, { suspendOn: [403] }, 50],
] as const)('the log never repeats what a receiver answers that %s', async (_, status, over, level) => {
  const rig = await PushRig.open(sqliteDatabase)
  const receiver = await startReceiver((request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: `bad: ${request.body}` }))
  })
  const destination = destinationTo(receiver.url, {
    accounts: ['default'],
    entities: ['market_events'],
    personalFields: ['market_events.detail'],
    scheduleMs: [1, 1, 1],
    error: 'body.error',
    ...over,
  })
  await rig.push(destination)
  await rig.apply([1, 2].map((n) => observedEvent('default', uuid(9, 1), wireEvent(n, { detail: SAID }))))
  const isAbout = (line: string) => line.includes(`"level":${level}`) && line.includes(`answered ${status}`)
  await rig.until('the answer is logged', () => rig.lines.some(isAbout))
  expect(receiver.arrived.some(({ body }) => body.includes(SAID))).toBe(true)
  expect(rig.lines.filter((line) => line.includes(SAID) || line.includes('bad:'))).toEqual([])
})
