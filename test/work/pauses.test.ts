import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { Worker } from '../../src/work/worker.ts'
import { onSqlite, silentLog, testDatabases } from '../tools/databases.ts'
import { uuid, wireMessage } from '../tools/observations.ts'
import { Rig } from '../tools/poller.ts'

const BATCHES = 6
it.each(testDatabases)('a worker on $name pauses after each batch for the requested time, if any', async (database) => {
  const rig = await Rig.open(database)
  const rests: number[] = []
  const clock = { ...systemClock, sleep: async (ms: number) => void rests.push(ms) }
  const wanted = [7, 0, 9]
  const stopping = new AbortController()
  const durations: number[] = []
  const restMs = (processedMs: number) => {
    durations.push(processedMs)
    return wanted[durations.length - 1] ?? 0
  }
  const running = new Worker({ db: rig.db, clock, log: silentLog, observer: silentObserver, restMs }).run(stopping.signal)
  for (const [n] of wanted.entries()) {
    await rig.deliver([{ type: 'submission.message', submission_id: uuid(9, 1), message: wireMessage(n) }])
    await rig.until('it is worked', () => durations.length === n + 1)
  }
  stopping.abort()
  await running
  expect(rests).toEqual([7, 9])
  expect(durations.every((ms) => ms > 0)).toBe(true)
})

/** SQLite works in the thread of the receiver: what arrives is seen only when the event loop turns. */
it.each(onSqlite)('a full inbox on $name does not keep the event loop from turning: it turns with every batch', async ({ open }) => {
  const { db, close } = await open()
  const bodies = Array.from({ length: BATCHES * 100 }, (_, n) =>
    Buffer.from(JSON.stringify({ type: 'submission.message', submission_id: uuid(9, 1), message: wireMessage(n) })),
  )
  await new InboxAppender(db).append(
    bodies.map((body, n) => ({
      account: 'acme',
      deliveryId: `msg_${n}`,
      receivedAt: timeFromMs(systemClock.now()),
      headers: {},
      body,
      secret: 1,
    })),
  )
  let turns = 0
  let settled = 0
  const turnsSeen = new Set<number>()
  const count = (name: string) => {
    if (name !== 'deliveries_settled_total') return
    settled += 1
    turnsSeen.add(turns)
  }
  const stopping = new AbortController()
  const worker = new Worker({ db, clock: systemClock, log: silentLog, observer: { ...silentObserver, count }, restMs: () => 0 })
  const running = worker.run(stopping.signal)
  for (; settled < bodies.length; turns++) await turn()
  stopping.abort()
  await running
  await close()
  expect(turnsSeen.size).toBeGreaterThanOrEqual(BATCHES)
})
