import type * as threads from 'node:worker_threads'
import { expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { WriteGate } from '../../../src/store/engine/write-gate.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { SqliteCheckpoints } from '../../../src/store/sqlite/checkpoints.ts'
import { newSqlite } from '../../tools/databases.ts'

/** `pages`: log length after each checkpoint, from a fake thread; null for real threads. */
const system = vi.hoisted(() => ({ givesThreads: true, pages: null as number[] | null }))

vi.mock('node:worker_threads', async (original) => {
  const real = await original<typeof threads>()
  return {
    ...real,
    Worker: class extends real.Worker {
      constructor(...given: ConstructorParameters<typeof real.Worker>) {
        // Node's error where the number of threads is limited.
        if (!system.givesThreads) throw new Error('EAGAIN')
        super(...given)
        const { pages } = system
        if (pages !== null) this.postMessage = () => void setImmediate(() => this.emit('message', { pages: pages.shift() ?? 0 }))
      }
    },
  }
})

it('a system that refuses threads stops nothing: it is reported with instructions, and the work continues later', async () => {
  const logged = Promise.withResolvers<string>()
  const log = createLog({ level: 'warn', pretty: false, secrets: [], destination: { write: logged.resolve } })
  const { config, remove } = newSqlite()
  const db = await openDb(config, { clock: systemClock, log })
  onTestFinished(async () => {
    system.givesThreads = true
    await db.close()
    await remove()
  })
  system.givesThreads = false
  await migrate(db)
  const refusal = /EAGAIN; this process cannot start another thread; raise its limit \(ulimit -u/
  expect(JSON.parse(await logged.promise)).toMatchObject({ msg: expect.stringMatching(refusal) })
  const aside = () => db.write('aside', async () => 'done', { onWorkerThread: true })
  await expect(aside()).rejects.toThrow('EAGAIN')
  system.givesThreads = true
  expect(await aside()).toBe('done')
})

it('a log that a reader prevents from being shortened is reported once, with instructions, and again when it recurs', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', pretty: false, secrets: [], destination: { write: (line) => lines.push(line) } })
  const { config, remove } = newSqlite()
  const path = config.kind === 'sqlite' ? config.path : ''
  const db = await openDb(config, { clock: systemClock, log })
  await migrate(db)
  await db.close()
  const long = 80_000
  system.pages = [long, long, long, long, long, 0, long, long]
  const checkpoints = new SqliteCheckpoints(path, new WriteGate(), log, () => {})
  onTestFinished(async () => {
    system.pages = null
    await checkpoints.close()
    await remove()
  })
  for (let left = system.pages.length; left > 0; left = system.pages.length) {
    checkpoints.written()
    await expect.poll(() => system.pages?.length).toBeLessThan(left)
  }
  await expect.poll(() => lines).toHaveLength(2)
  for (const line of lines)
    expect(JSON.parse(line).msg).toMatch(
      /-wal has grown to 328 MB and cannot be shortened\. Another process, such as a backup, has been reading .*\. End that process/,
    )
})
