import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { TransientError } from '../../src/base/errors.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { bindRequests } from '../../src/model/entities/bind-requests.ts'
import { insureds } from '../../src/model/entities/insureds.ts'
import { policies } from '../../src/model/entities/policies.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { readKinds } from '../../src/model/reads.ts'
import { Sync } from '../../src/poll/sync.ts'
import type { SyncOptions } from '../../src/poll/sync-options.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { beginPurge } from '../../src/store/mirror/purge.ts'
import { claimReads } from '../../src/store/reads/claims.ts'
import { freshnessGauges } from '../../src/store/upkeep/gauges.ts'
import { onSqlite, silentLog, testDatabases } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'
import { defaultRecordFields } from '../tools/record-fields.ts'
import { sandboxClient } from '../tools/sandbox-client.ts'

const ACCOUNT = 'default'

/** The first transaction of this name fails. */
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
  return new Sync({ ...common, db: rig.db, client, log: silentLog, policy, concurrency: 2, recordFields: defaultRecordFields, ...over })
}

it.each(onSqlite)('a command ends when one of its reads breaks: the others start nothing more, on $name', async (database) => {
  const rig = await Rig.open(database)
  const ids = Array.from({ length: 5 }, () => rig.sandbox.addSubmission(ACCOUNT))
  await rig.track(ids)
  const sync = syncOf(rig, { db: failingOnce(rig.db, 'read-claim') })
  await expect(sync.read(ids, new AbortController().signal)).rejects.toThrow('the store is away')
  expect(readKinds.flatMap((read) => rig.asked(read)).length).toBeLessThanOrEqual(1)
  await rig.idle()
})

it.each(onSqlite)('a command releases its reads if the store fails, on $name', async (database) => {
  const rig = await Rig.open(database)
  const ids = [rig.sandbox.addSubmission(ACCOUNT), rig.sandbox.addSubmission(ACCOUNT)]
  await rig.track(ids)
  const sync = syncOf(rig, { db: failingOnce(rig.db, 'feed-page') })
  await expect(sync.read(ids, new AbortController().signal)).rejects.toThrow('the store is away')
  for (const id of ids) for (const read of readKinds) expect(await rig.read(id, read)).toMatchObject({ lease_token: null })
})

it.each(onSqlite)('an aborted command reports reads held by another process, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  for (const read of readKinds) await claimReads(rig.db, { account: ACCOUNT, submissionIds: [id], read, limit: 1, leaseMs: 60_000 })
  const abort = new AbortController()
  const clock = { ...systemClock, sleep: async () => abort.abort(new Error('stopped')) }
  await expect(syncOf(rig, { clock }).read([id], abort.signal)).rejects.toThrow('stopped')
})

it.each(onSqlite)('a command waits before retrying a failed read, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'events' })
  // Time passes only during sleeps.
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

it.each(onSqlite)('two commands share one read, and release it, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  let claims = 0
  const db = interrupted(rig.db, async (name) => {
    if (name !== 'read-claim') return
    claims += 1
    if (claims === 2) await rig.until('it is made', async () => (await rig.read(id, 'events')).last_read_at !== null)
  })
  expect(await syncOf(rig, { db }).read([id], new AbortController().signal)).toEqual([])
  for (const read of readKinds) {
    expect(rig.asked(read, id)).toHaveLength(1)
    expect(await rig.read(id, read)).toMatchObject({ lease_token: null })
  }
})

it.each(onSqlite)('a failed command does not delay the next scheduled read, on $name', async (database) => {
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

it.each(onSqlite)('trap 48: a 404 of a command does not confirm a missing submission, on $name', async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'events' })
  for (let n = 0; n < 3; n++) expect(await syncOf(rig).read([id], new AbortController().signal)).toMatchObject([{ read: 'events' }])
  const { not_found, due_at } = await rig.read(id, 'events')
  expect(not_found).toBe(1)
  expect(Date.parse(due_at ?? '')).toBeLessThan(Date.now() + 60_000)
  expect(await rowsOf(rig.db, submissions)).toMatchObject([{ unreachable_since: null }])
})

it.each(testDatabases)(
  'trap 23: reading now reads what was named, however it became known, and extra reads, on $name',
  async (database) => {
    const rig = await Rig.open(database, { sandbox: { lists: true } })
    const [id = '', other = ''] = [rig.sandbox.addSubmission(ACCOUNT), rig.sandbox.addSubmission(ACCOUNT)]
    rig.bind(ACCOUNT, id)
    await rig.track([id, other])
    const extraReads = [
      { name: 'detail', path: '/broker/submissions/{submission_id}', everyMs: 86_400_000 },
      { name: 'list', path: '/broker/submissions', everyMs: 86_400_000 },
    ]
    const sync = syncOf(rig, { extraReads })
    const { signal } = new AbortController()
    expect(await sync.read([id], signal)).toEqual([])
    for (const entity of [bindRequests, policies, insureds]) expect(await rowsOf(rig.db, entity)).toHaveLength(1)
    const extras = () => rig.db.read.sql.selectFrom('extra_reads').select(['submission_id', 'name']).orderBy('name').execute()
    expect(await extras()).toEqual([{ submission_id: id, name: 'detail' }])
    expect(await sync.readOthers(signal)).toEqual([])
    expect(await extras()).toEqual([
      { submission_id: id, name: 'detail' },
      { submission_id: '', name: 'list' },
    ])
    const gauges = (await freshnessGauges(rig.db.read, ACCOUNT)).filter(({ read }) => read === 'policy' || read === 'insured')
    expect(gauges).toMatchObject([
      { read: 'policy', oldestAt: expect.any(String), never: 0 },
      { read: 'insured', oldestAt: expect.any(String), never: 0 },
    ])
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'policy' })
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'extra' })
    expect(await sync.read([id], signal)).toMatchObject([
      { read: 'policy', submissionId: id, reason: expect.stringContaining('not found') },
      { read: 'extra read detail', submissionId: id },
    ])
  },
)

it.each(onSqlite)("a purge ends a command's reads and later polls of the submission, on $name", async (database) => {
  const rig = await Rig.open(database)
  const id = rig.sandbox.addSubmission(ACCOUNT)
  await rig.track([id])
  const purge = () => beginPurge(rig.db, { account: ACCOUNT, submissionId: id })
  let claims = 0
  const meanwhile = interrupted(rig.db, async (name) => {
    if (name !== 'read-claim') return
    claims += 1
    if (claims === 2) await purge()
  })
  const rows = () => rig.db.read.sql.selectFrom('sync_reads').select('read').where('submission_id', '=', id).execute()
  await syncOf(rig, { db: meanwhile, concurrency: 1 }).read([id], new AbortController().signal)
  expect([claims >= 2, await rows()]).toEqual([true, []])
  // A purge between listing and reading ids.
  const extraReads = [{ name: 'detail', path: '/broker/submissions/{submission_id}/detail', everyMs: 60_000 }]
  await syncOf(rig, { extraReads }).read([id], new AbortController().signal)
  expect([await rows(), await rig.db.read.sql.selectFrom('sync_path_reads').select('path').execute()]).toEqual([[], []])
})
