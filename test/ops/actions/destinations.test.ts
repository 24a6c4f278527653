import { expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { resumeDestination } from '../../../src/ops/operations/destination.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { makeStreamsDue } from '../../../src/store/outbox/retry.ts'
import { insertRows, testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

it.each(testDatabases)('resuming a destination pauses between steps, and stops with the process, on $name', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
  const due_at = timeFromMs(Date.now() + 3_600_000)
  const streams = Array.from({ length: 501 }, (_, n) => ({ destination: 'ams', account: 'acme', stream: `stream ${n}`, due_at }))
  await insertRows(db, 'sync_push_streams', streams)
  const stopping = new AbortController()
  const stopped = new Error('stopped by SIGTERM')
  const clock = { ...systemClock, sleep: async () => stopping.abort(stopped) }
  const context = { db, clock, signal: stopping.signal, observer: silentObserver, who: 'command' }
  await expect(resumeDestination(context, 'ams')).rejects.toBe(stopped)
  expect(await makeStreamsDue(db, 'ams', 500)).toBe(1)
})
