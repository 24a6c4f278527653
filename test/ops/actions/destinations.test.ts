import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { resumeDestination } from '../../../src/ops/operations/destination.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { makeLanesDue } from '../../../src/store/outbox/hasten.ts'
import { testDatabases } from '../../tools/databases.ts'

it.each(testDatabases)(
  'resuming a destination rests between its steps, and ends with one when the process is to stop, on $name',
  async ({ open }) => {
    const { db, close } = await open()
    onTestFinished(close)
    await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
    const due_at = timeFromMs(Date.now() + 3_600_000)
    const lanes = Array.from({ length: 501 }, (_, n) => ({ destination: 'ams', account: 'acme', lane: `lane ${n}`, due_at }))
    await db.write('test', (tx) => tx.sql.insertInto('sync_push_lanes').values(lanes).execute())
    const stopping = new AbortController()
    const stopped = new Error('stopped by SIGTERM')
    const clock = { ...systemClock, sleep: async () => stopping.abort(stopped) }
    const context = { db, clock, signal: stopping.signal, observer: silentObserver, who: 'command' }
    await expect(resumeDestination(context, 'ams')).rejects.toBe(stopped)
    expect(await makeLanesDue(db, 'ams', 500)).toBe(1)
  },
)
