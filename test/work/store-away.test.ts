import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { FatalError, TransientError } from '../../src/base/errors.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { supervise } from '../../src/base/service.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { Worker } from '../../src/work/worker.ts'
import { silentLog, testDatabases } from '../tools/databases.ts'
import { interrupted, meddled } from '../tools/meddled.ts'
import { rowsOf } from '../tools/mirror.ts'
import { uuid, wireMessage } from '../tools/observations.ts'
import { poison } from '../tools/poison.ts'
import { Rig } from '../tools/poller.ts'

const ID = uuid(9, 1)
const messageOf = (n: number) => ({ type: 'submission.message', submission_id: ID, message: wireMessage(n) })

/** The same database, whose transactions fail as often as `failing` says, by name, as they do while it is away. */
function away(db: Db, failing: Record<string, number>, why: Error = new TransientError('the store is away')): Db {
  return interrupted(db, (name) => {
    if ((failing[name] ?? 0) === 0) return
    failing[name] = (failing[name] ?? 0) - 1
    throw why
  })
}

describe.each(testDatabases)('a worker whose database goes down on $name', (database) => {
  async function worked(rig: Rig, failing: Record<string, number>): Promise<() => Promise<void>> {
    const abort = new AbortController()
    const worker = new Worker({
      db: away(rig.db, failing),
      clock: systemClock,
      log: silentLog,
      observer: silentObserver,
      restMs: () => 0,
    })
    const running = supervise(worker, systemClock, silentLog, abort.signal)
    const stop = () => {
      abort.abort()
      return running
    }
    onTestFinished(() => stop())
    return stop
  }

  it('releases its batch when the database is back, before the lease ends', async () => {
    const rig = await Rig.open(database)
    await rig.deliver([messageOf(1), messageOf(2)], { ids: ['msg_1', 'msg_2'] })
    const failing = { 'inbox-apply': 1, 'inbox-release': 3 }
    await worked(rig, failing)
    await rig.until('they are applied', async () => (await rowsOf(rig.db, threadMessages)).length === 2)
    expect(failing).toEqual({ 'inbox-apply': 0, 'inbox-release': 0 })
    expect(await rig.db.read.sql.selectFrom('sync_inbox').select(['state', 'attempts']).execute()).toEqual(
      [1, 2].map(() => ({ state: 'done', attempts: 1 })),
    )
  })

  it('releases what it claimed when the answer to the claim was lost', async () => {
    const rig = await Rig.open(database)
    await rig.deliver([messageOf(1)])
    let claims = 0
    const afterReleases: (string | null | undefined)[] = []
    const db = meddled(rig.db, async (name, go) => {
      const result = await go()
      const lease = rig.db.read.sql.selectFrom('sync_inbox').select('lease_token')
      if (name === 'inbox-release') afterReleases.push((await lease.executeTakeFirst())?.lease_token)
      if (name === 'inbox-claim' && claims++ === 0) throw new TransientError('it is unknown whether it was committed')
      return result
    })
    const abort = new AbortController()
    const worker = new Worker({ db, clock: systemClock, log: silentLog, observer: silentObserver, restMs: () => 0 })
    const running = supervise(worker, systemClock, silentLog, abort.signal)
    onTestFinished(() => {
      abort.abort()
      return running
    })
    await rig.until('it is applied', async () => (await rowsOf(rig.db, threadMessages)).length === 1)
    expect(afterReleases, 'before the first claim, and after it').toEqual([null, null])
  })

  it('releases the rest of a batch; a rescheduled delivery keeps its wait', async () => {
    const rig = await Rig.open(database)
    const cure = await poison(rig.db, 'thread_messages', 'message_id', uuid(2, 1))
    await rig.deliver([messageOf(1), messageOf(2)], { ids: ['msg_1', 'msg_2'] })
    // The batch fails for the poison; then its first delivery does, and is set back; with the second the store goes away.
    const failing: Record<string, number> = {}
    const db = rig.db
    const firstRow = () => db.read.sql.selectFrom('sync_inbox').select('available_at').orderBy('inbox_id').executeTakeFirst()
    let dueAt: string | undefined
    const write = db.write.bind(db)
    onTestFinished(() => {
      db.write = write
    })
    db.write = async (name, work, options) => {
      const result = await write(name, work, options)
      if (name === 'inbox-reschedule') {
        failing['inbox-apply'] = 1
        dueAt = (await firstRow())?.available_at
      }
      return result
    }
    await worked(rig, failing)
    await rig.until('the other is applied', async () => (await rowsOf(rig.db, threadMessages)).length === 1)
    const rows = await db.read.sql.selectFrom('sync_inbox').select(['state', 'attempts', 'available_at']).orderBy('inbox_id').execute()
    expect(rows).toMatchObject([
      { state: 'ready', attempts: 1 },
      { state: 'done', attempts: 1 },
    ])
    expect(dueAt).toBeDefined()
    expect(rows[0]?.available_at).toBe(dueAt)
    await cure()
  })

  it('stops immediately while the database is down', async () => {
    const rig = await Rig.open(database)
    await rig.deliver([messageOf(1)])
    const failing = { 'inbox-apply': 1, 'inbox-release': 1_000 }
    const stop = await worked(rig, failing)
    await rig.until('it attempts to release', () => failing['inbox-release'] < 1_000)
    await stop()
  })

  it('ends the process when the database is damaged, and counts no attempt for its deliveries', async () => {
    const rig = await Rig.open(database)
    await rig.deliver([messageOf(1), messageOf(2)])
    const why = new FatalError('the database is damaged')
    const db = away(rig.db, { 'inbox-apply': 3 }, why)
    const abort = new AbortController()
    onTestFinished(() => abort.abort())
    const worker = new Worker({ db, clock: systemClock, log: silentLog, observer: silentObserver, restMs: () => 0 })
    const ended = supervise(worker, systemClock, silentLog, abort.signal).then(
      () => 'stopped',
      (error: unknown) => error,
    )
    expect(await ended).toBe(why)
    const kept = await rig.db.read.sql.selectFrom('sync_inbox').select(['state', 'attempts']).execute()
    expect(kept).toEqual([1, 2].map(() => ({ state: 'ready', attempts: 0 })))
  })
})
