import type * as threads from 'node:worker_threads'
import { expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createLog } from '../../src/log.ts'
import { migrate } from '../../src/store/migrate.ts'
import { openDb } from '../../src/store/open.ts'
import { newSqlite } from '../tools/databases.ts'

const system = vi.hoisted(() => ({ givesThreads: true }))

vi.mock('node:worker_threads', async (original) => {
  const real = await original<typeof threads>()
  return {
    ...real,
    Worker: class extends real.Worker {
      constructor(...given: ConstructorParameters<typeof real.Worker>) {
        // As Node says it where the number of threads is limited.
        if (!system.givesThreads) throw new Error('EAGAIN')
        super(...given)
      }
    },
  }
})

it('a system that gives no thread ends nothing: it is told with what to do, and what waits for one goes on later', async () => {
  const told = Promise.withResolvers<string>()
  const log = createLog({ level: 'warn', pretty: false, secrets: [], destination: { write: told.resolve } })
  const { config, remove } = newSqlite()
  const db = await openDb(config, { clock: systemClock, log })
  onTestFinished(async () => {
    system.givesThreads = true
    await db.close()
    await remove()
  })
  system.givesThreads = false
  await migrate(db)
  const refusal = /EAGAIN; the system gives this process no further thread; raise its limit \(ulimit -u/
  expect(JSON.parse(await told.promise)).toMatchObject({ msg: expect.stringMatching(refusal) })
  const aside = () => db.write('aside', async () => 'done', { aside: true })
  await expect(aside()).rejects.toThrow('EAGAIN')
  system.givesThreads = true
  expect(await aside()).toBe('done')
})
