import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { TransientError } from '../../src/base/errors.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { readKinds } from '../../src/model/reads.ts'
import { Sync, type SyncOptions } from '../../src/poll/sync.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { claimReads } from '../../src/store/reads/claims.ts'
import { silentLog, testDatabases } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'
import { sandboxClient } from '../tools/sandbox-client.ts'

const ACCOUNT = 'default'

/** The same database, of which the first transaction of this name fails. */
function failingOnce(db: Db, failing: string): Db {
  let failed = false
  return interrupted(db, (name) => {
    if (failed || name !== failing) return
    failed = true
    throw new TransientError('the store is away')
  })
}

function syncOf(rig: Rig, over: Partial<SyncOptions> = {}): Sync {
  const common = { account: ACCOUNT, clock: systemClock, observer: silentObserver }
  const client = sandboxClient(rig.sandbox, ACCOUNT)
  onTestFinished(() => client.close())
  return new Sync({ ...common, db: rig.db, client, log: silentLog, policy, concurrency: 2, ...over })
}

it.each(testDatabases)('reading now ends when one of its hands fails: the others begin nothing more, on $name', async (database) => {
  const rig = await Rig.open(database)
  const ids = Array.from({ length: 5 }, () => rig.sandbox.addSubmission(ACCOUNT))
  await rig.track(ids)
  const sync = syncOf(rig, { db: failingOnce(rig.db, 'read-claim') })
  await expect(sync.read(ids, new AbortController().signal)).rejects.toThrow('the store is away')
  expect(readKinds.flatMap((read) => rig.asked(read)).length).toBeLessThanOrEqual(1)
  await rig.idle()
})

it.each(testDatabases)('what reading now had in hand when the store failed is free at once, on $name', async (database) => {
  const rig = await Rig.open(database)
  const ids = [rig.sandbox.addSubmission(ACCOUNT), rig.sandbox.addSubmission(ACCOUNT)]
  await rig.track(ids)
  const sync = syncOf(rig, { db: failingOnce(rig.db, 'feed-page') })
  await expect(sync.read(ids, new AbortController().signal)).rejects.toThrow('the store is away')
  for (const id of ids) for (const read of readKinds) expect(await rig.read(id, read)).toMatchObject({ lease_token: null })
})

it.each(testDatabases)('reading now that is broken off while another process reads says so, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  for (const read of readKinds) await claimReads(rig.db, { account: ACCOUNT, submissionIds: [id], read, limit: 1, leaseMs: 60_000 })
  const abort = new AbortController()
  const clock = { ...systemClock, sleep: async () => abort.abort(new Error('stopped')) }
  await expect(syncOf(rig, { clock }).read([id], abort.signal)).rejects.toThrow('stopped')
})

it.each(testDatabases)('what fails is left alone for a while before it is tried again, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'events' })
  // Time passes only while everybody sleeps.
  let now = Date.now()
  const begunAt = now
  const sleep = async (ms: number) => {
    now += ms
  }
  const clock = { ...systemClock, now: () => now, sleep }
  expect(await syncOf(rig, { clock, concurrency: 1 }).read([id], new AbortController().signal)).toMatchObject([{ read: 'events' }])
  expect(rig.asked('events', id)).toHaveLength(3)
  expect(now - begunAt).toBeGreaterThanOrEqual(3_000)
})

it.each(testDatabases)('a read that one hand made while another was about to is made once, and left free, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  let claims = 0
  const db = interrupted(rig.db, async (name) => {
    if (name !== 'read-claim') return
    claims += 1
    // Both want the same read at first.
    if (claims === 2) await rig.until('it is made', async () => (await rig.read(id, 'events')).last_read_at !== null)
  })
  expect(await syncOf(rig, { db }).read([id], new AbortController().signal)).toEqual([])
  for (const read of readKinds) {
    expect(rig.asked(read, id)).toHaveLength(1)
    expect(await rig.read(id, read)).toMatchObject({ lease_token: null })
  }
})

it.each(testDatabases)('what cannot be read now is not put off longer for having been asked for again, on $name', async (database) => {
  const rig = await Rig.open(database)
  const ids = [rig.sandbox.addSubmission(ACCOUNT), rig.sandbox.addSubmission(ACCOUNT)]
  const [first = '', again = ''] = ids
  await rig.track(ids)
  await rig.db.write('test-failures', (tx) =>
    tx.sql.updateTable('sync_reads').set({ failures: 4 }).where('submission_id', '=', again).execute(),
  )
  rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'events' })
  await syncOf(rig).read(ids, new AbortController().signal)
  for (const id of ids) expect(rig.asked('events', id)).toHaveLength(3)
  expect(await rig.read(first, 'events')).toMatchObject({ failures: 1, lease_token: null })
  expect(await rig.read(again, 'events')).toMatchObject({ failures: 4, lease_token: null })
})

it.each(testDatabases)(
  'trap 48: what is not found now is not believed sooner for having been asked for again, on $name',
  async (database) => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    await rig.track([id])
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'events' })
    for (let n = 0; n < 3; n++) expect(await syncOf(rig).read([id], new AbortController().signal)).toMatchObject([{ read: 'events' }])
    const { misses, due_at } = await rig.read(id, 'events')
    expect(misses).toBe(1)
    expect(Date.parse(due_at)).toBeLessThan(Date.now() + 60_000)
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ unreachable_since: null }])
  },
)
