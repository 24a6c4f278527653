import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { createSignals } from '../../../src/store/engine/signals.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { newPostgres, openAgain } from '../../tools/databases.ts'
import { type PostgresServer, startPostgres } from '../../tools/postgres-server.ts'

const LONG_MS = 3_600_000

describe('signals in a process', () => {
  const never = new AbortController().signal

  it('wake all waiters for their topic, and no others', async () => {
    const clock = new ManualClock()
    const signals = createSignals(clock)
    const woken: string[] = []
    const waits = [
      signals.wait('inbox', LONG_MS, never).then(() => woken.push('inbox 1')),
      signals.wait('inbox', LONG_MS, never).then(() => woken.push('inbox 2')),
    ]
    const reads = signals.wait('reads', LONG_MS, never).then(() => woken.push('reads'))
    signals.notify('inbox')
    await Promise.all(waits)
    expect(woken).toEqual(['inbox 1', 'inbox 2'])
    clock.advance(LONG_MS)
    await reads
  })

  it('are kept once without a waiter', async () => {
    const clock = new ManualClock()
    const signals = createSignals(clock)
    signals.notify('inbox')
    signals.notify('inbox')
    await signals.wait('inbox', LONG_MS, never)
    let woken = false
    const second = signals.wait('inbox', LONG_MS, never).then(() => {
      woken = true
    })
    await new Promise(setImmediate)
    expect(woken).toBe(false)
    clock.advance(LONG_MS)
    await second
  })

  it('are kept when they come between a wake-up and the next wait', async () => {
    const signals = createSignals(new ManualClock())
    const first = signals.wait('inbox', LONG_MS, never)
    signals.notify('inbox')
    signals.notify('inbox')
    await first
    await signals.wait('inbox', LONG_MS, never)
  })

  it('reach subscribers, and are still kept for waiters', async () => {
    const signals = createSignals(new ManualClock())
    const heard: string[] = []
    const end = signals.subscribe((topic) => heard.push(topic))
    signals.notify('inbox')
    await signals.wait('inbox', LONG_MS, never)
    signals.notify('outbox')
    end()
    signals.notify('reads')
    expect(heard).toEqual(['inbox', 'outbox'])
  })

  it('end their waits on an abort', async () => {
    const signals = createSignals(new ManualClock())
    const stop = new AbortController()
    const waiting = signals.wait('inbox', LONG_MS, stop.signal)
    stop.abort()
    await waiting
    await signals.wait('inbox', LONG_MS, stop.signal)
  })
})

describe('signals between processes on Postgres', () => {
  let server: PostgresServer
  let here: Db
  let there: Db
  const stop = new AbortController()
  let listening: Promise<void>

  beforeAll(async () => {
    server = await startPostgres({ fsync: false })
    const { config } = newPostgres(server.url)
    // Waits of these never end by time: their clocks stand still.
    here = await openAgain(config, { clock: new ManualClock() })
    there = await openAgain(config, { clock: new ManualClock() })
    await migrate(here)
    listening = there.listen(stop.signal)
    await Promise.all([wait('inbox'), wait('reads')])
  })
  afterAll(async () => {
    stop.abort()
    await listening
    await Promise.all([here.close(), there.close()])
    await server.remove()
  })

  function wait(topic: 'inbox' | 'reads'): Promise<void> {
    return there.signals.wait(topic, LONG_MS, new AbortController().signal)
  }

  it('arrive after the commit, and never after a rollback', async () => {
    const refused = here.write('refused', async (tx) => {
      tx.notifyOthers('reads')
      throw new Error('no')
    })
    await expect(refused).rejects.toThrow('no')
    let reads = false
    const waitingForReads = wait('reads').then(() => {
      reads = true
    })
    await here.write('noting', async (tx) => {
      await tx.sql.insertInto('sync_counters').values({ account: 'a', name: 'n', label: '', value: 1 }).execute()
      tx.notifyOthers('inbox')
    })
    await wait('inbox')
    expect(await there.read.sql.selectFrom('sync_counters').select('value').execute()).toEqual([{ value: 1 }])
    expect(reads).toBe(false)
    await here.write('reads', async (tx) => tx.notifyOthers('reads'))
    await waitingForReads
  })

  it('of many concurrent transactions all arrive, in few notifications', async () => {
    await Promise.all(Array.from({ length: 50 }, () => here.write('many', async (tx) => tx.notifyOthers('inbox'))))
    await wait('inbox')
  })

  it('leave no timer that would keep a stopping process alive', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
    const stopping = new AbortController()
    const before = timers()
    const heard = here.listen(stopping.signal)
    await here.signals.wait('inbox', LONG_MS, new AbortController().signal)
    stopping.abort()
    await heard
    expect(timers()).toBeLessThanOrEqual(before)
  })

  it('that were missed during an outage are repeated after it', async () => {
    await server.kill()
    const missed = Promise.all([wait('inbox'), wait('reads')])
    await server.start()
    await missed
    await here.write('again', async (tx) => tx.notifyOthers('inbox'))
    await wait('inbox')
  })
})
