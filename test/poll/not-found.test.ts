import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { mainReads } from '../../src/model/reads.ts'
import { findAccount, resumeAccount } from '../../src/store/reads/accounts.ts'
import { onSqlite } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { uuid, wireMessage } from '../tools/observations.ts'
import { HOUR, policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'
const RETRY_MS = 900_000

async function readOnce(rig: Rig, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => rig.sandbox.addSubmission(ACCOUNT))
  for (const id of ids) rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached' })
  await rig.track(ids)
  await rig.poll()
  return ids
}

async function unreachable(rig: Rig): Promise<unknown[]> {
  const rows = await rowsOf(rig.db, submissions)
  return rows.filter((row) => row['unreachable_since'] !== null).map((row) => row['submission_id'])
}

async function stateOf(rig: Rig): Promise<string | undefined> {
  return (await findAccount(rig.db.read, ACCOUNT))?.state
}

/** Removes most submissions, which are confirmed once the paused account resumes. */
async function removeMany(rig: Rig, goOn: () => Promise<unknown>): Promise<void> {
  const ids = await readOnce(rig, 12)
  const removed = ids.slice(0, 8)
  for (const submissionId of removed) rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId })
  await rig.pass(policy.poll.maxMs)
  await rig.until('the account is paused', async () => (await stateOf(rig)) === 'paused')
  await rig.idle()
  await goOn()
  await rig.until('it is active again', async () => (await stateOf(rig)) === 'active')
  for (const waitMs of [0, 30_000, 120_000]) {
    await rig.passAndRest(waitMs)
  }
  expect((await unreachable(rig)).sort()).toEqual([...removed].sort())
  expect(await stateOf(rig)).toBe('active')
  expect(rig.lines('is paused')).toHaveLength(1)
}

describe.each(onSqlite)('trap 48: "not found" on $name', (database) => {
  it('trap 48: is confirmed after three attempts, loses no row, and ends when the submission is found', async () => {
    const rig = await Rig.open(database)
    const [gone = ''] = await readOnce(rig, 3)
    const before = (await changesOf(rig.db)).length
    rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId: gone })
    for (const [tries, waitMs] of [policy.poll.maxMs, 30_000, 120_000].entries()) {
      expect(await unreachable(rig)).toEqual([])
      await rig.passAndRest(waitMs)
      expect(await rig.read(gone, 'events')).toMatchObject({ not_found: tries + 1, rank: 2 })
    }
    expect(await unreachable(rig)).toEqual([gone])
    const { due_at } = await rig.read(gone, 'events')
    expect(Date.parse(due_at ?? ''), 'it is looked for as seldom as anything').toBeGreaterThan(Date.now() + policy.poll.maxMs - HOUR)
    expect(await rowsOf(rig.db, marketEvents)).toHaveLength(3)
    expect(await stateOf(rig)).toBe('active')
    rig.sandbox.faults.set([])
    await rig.passAndRest(policy.poll.maxMs + HOUR)
    expect(await unreachable(rig)).toEqual([])
    expect(await rig.read(gone, 'events')).toMatchObject({ not_found: 0, rank: 1 })
    const logged = (await changesOf(rig.db))
      .slice(before)
      .map(({ entity, operation, after }) => [entity, operation, after?.['unreachable_since'] === null])
    expect(logged).toEqual([
      ['submissions', 'update', false],
      ['submissions', 'update', true],
    ])
  })

  it('trap 48: a delivery soon triggers all reads of a gone submission', async () => {
    const rig = await Rig.open(database)
    const [gone = ''] = await readOnce(rig, 3)
    rig.startWorker()
    rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId: gone })
    for (const waitMs of [policy.poll.maxMs, 30_000, 120_000]) {
      await rig.passAndRest(waitMs)
    }
    expect(await unreachable(rig)).toEqual([gone])
    const named = (n: number) => rig.deliver([{ type: 'submission.message', submission_id: gone, message: wireMessage(n) }])
    const not_found = async () => Promise.all(mainReads.map(async (read) => (await rig.read(gone, read))?.not_found))
    await named(1)
    await rig.rest()
    expect(await not_found()).toEqual([3, 3, 3])
    await rig.passAndRest(120_000)
    expect(await not_found()).toEqual([4, 4, 4])
    rig.sandbox.faults.set([])
    await named(2)
    await rig.rest()
    await rig.passAndRest(120_000)
    expect(await unreachable(rig)).toEqual([])
    await rig.passAndRest(120_000)
    expect(await not_found()).toEqual([0, 0, 0])
  })

  it('trap 48: stops nothing for ids that were never found', async () => {
    const rig = await Rig.open(database)
    await rig.track(Array.from({ length: 12 }, (_, n) => uuid(8, n)))
    rig.startPoller()
    for (const waitMs of [0, 30_000, 120_000]) {
      await rig.passAndRest(waitMs)
    }
    expect(await unreachable(rig)).toHaveLength(12)
    expect(await stateOf(rig)).toBe('active')
  })

  it('trap 48: a wave pauses the account, marks nothing, and ends automatically', async () => {
    const rig = await Rig.open(database)
    const ids = await readOnce(rig, 8)
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'events' })
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'thread' })
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'requirements' })
    await rig.pass(policy.poll.maxMs)
    await rig.until('the account is paused', async () => (await stateOf(rig)) === 'paused')
    await rig.idle()
    await rig.pass(10_000)
    const asked = rig.sandbox.activity.requests.length
    // The retry identifies the account, but finds nothing.
    await rig.pass(RETRY_MS)
    await rig.until('it tried again', () => rig.sandbox.activity.requests.length > asked)
    await rig.until('it waits again', async () => Date.parse((await findAccount(rig.db.read, ACCOUNT))?.retry_at ?? '') > Date.now())
    expect(await stateOf(rig)).toBe('paused')
    expect(await unreachable(rig)).toEqual([])
    expect(await rowsOf(rig.db, marketEvents)).toHaveLength(8)
    rig.sandbox.faults.set([])
    await rig.pass(RETRY_MS)
    await rig.until('it is active again', async () => (await stateOf(rig)) === 'active')
    await rig.passAndRest(HOUR)
    for (const id of ids) expect(await rig.read(id, 'events')).toMatchObject({ not_found: 0, rank: 1, error: null })
    expect(await unreachable(rig)).toEqual([])
  })

  it('trap 48: a wave counts even if each read confirms a submission missing twice before', async () => {
    const rig = await Rig.open(database)
    const ids = await readOnce(rig, 8)
    await rig.db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ not_found: 2 }).execute())
    for (const submissionId of ids) rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId })
    await rig.pass(policy.poll.maxMs)
    await rig.until('the account is paused', async () => (await stateOf(rig)) === 'paused')
    await rig.idle()
    await rig.until('nothing is marked', async () => (await unreachable(rig)).length === 0)
  })

  it('trap 48: a wave undoes confirmations before its detection', async () => {
    const rig = await Rig.open(database)
    const ids = await readOnce(rig, 8)
    const [first = ''] = ids
    rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId: first })
    await rig.passAndRest(policy.poll.maxMs)
    for (const waitMs of [30_000, 120_000]) {
      await rig.passAndRest(waitMs)
    }
    expect(await unreachable(rig)).toEqual([first])
    for (const submissionId of ids.slice(1)) rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId })
    await rig.pass(policy.poll.maxMs)
    await rig.until('the account is paused', async () => (await stateOf(rig)) === 'paused')
    await rig.idle()
    await rig.until('nothing is marked', async () => (await unreachable(rig)).length === 0)
    rig.sandbox.faults.set([])
    await rig.pass(RETRY_MS)
    await rig.until('it is active again', async () => (await stateOf(rig)) === 'active')
    await rig.passAndRest(HOUR)
    expect(await unreachable(rig)).toEqual([])
    expect(await rig.read(first, 'events')).toMatchObject({ not_found: 0, rank: 1 })
  })

  it('trap 48: many removed submissions pause the account once, and are confirmed afterwards since others can be read', async () => {
    const rig = await Rig.open(database)
    await removeMany(rig, () => rig.pass(RETRY_MS))
  })

  it.each(['tracked', 'delivered'] as const)('resumes with a new submission if all others were removed: %s', async (how) => {
    const rig = await Rig.open(database)
    const removed = await readOnce(rig, 2)
    await rig.track(Array.from({ length: 10 }, (_, n) => uuid(8, n)).slice(0, how === 'delivered' ? 10 : 0))
    await rig.rest()
    for (const submissionId of removed) rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId })
    await rig.pass(policy.poll.maxMs)
    await rig.until('the account is paused', async () => (await stateOf(rig)) === 'paused')
    await rig.idle()
    const fresh = rig.sandbox.addSubmission(ACCOUNT)
    rig.startWorker()
    if (how === 'tracked') await rig.track([fresh])
    else await rig.deliver([{ type: 'submission.message', submission_id: fresh, message: wireMessage(1) }])
    await rig.until('it is known', async () => (await rowsOf(rig.db, submissions)).some((row) => row['submission_id'] === fresh))
    await rig.pass(RETRY_MS)
    await rig.until('the account goes on', async () => (await stateOf(rig)) === 'active')
    await rig.until('it is read', async () => (await rig.read(fresh, 'events')).last_read_at !== null)
  })

  it('is confirmed after an operator resumes the account', async () => {
    const rig = await Rig.open(database)
    await removeMany(rig, () => resumeAccount(rig.db, ACCOUNT))
  })

  it('trap 48: reading a gone submission again stops nothing', async () => {
    const rig = await Rig.open(database)
    const ids = Array.from({ length: 8 }, () => rig.sandbox.addSubmission(ACCOUNT))
    await rig.track(ids)
    const first = await rig.poll()
    for (const submissionId of ids.slice(0, 4)) rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId })
    for (const waitMs of [policy.poll.maxMs, 30_000, 120_000]) {
      await rig.passAndRest(waitMs)
    }
    expect(await unreachable(rig)).toHaveLength(4)
    // Only the store remembers it.
    await first.stop()
    for (const submissionId of ids.slice(4, 5)) rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId })
    await rig.pass(policy.poll.maxMs)
    await rig.poll()
    expect(await stateOf(rig)).toBe('active')
    for (const id of ids.slice(0, 4)) expect(await rig.read(id, 'events')).toMatchObject({ not_found: 4 })
  })

  it('trap 48: a submission unreachable before a wave can be found after it', async () => {
    const rig = await Rig.open(database)
    const ids = await readOnce(rig, 8)
    const [first = ''] = ids
    rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId: first })
    for (const waitMs of [policy.poll.maxMs, 30_000, 120_000]) {
      await rig.passAndRest(waitMs)
    }
    await rig.db.write('test-long-ago', (tx) =>
      tx.run(sql`update submissions set unreachable_since = '2026-01-01T00:00:00.000000Z' where submission_id = ${first}`),
    )
    for (const submissionId of ids.slice(1)) rig.sandbox.faults.add({ kind: 'status', status: 404, submissionId })
    await rig.pass(policy.poll.maxMs)
    await rig.until('the account is paused', async () => (await stateOf(rig)) === 'paused')
    await rig.idle()
    expect(await unreachable(rig)).toEqual([first])
    rig.sandbox.faults.set([])
    await rig.pass(RETRY_MS)
    await rig.until('it is active again', async () => (await stateOf(rig)) === 'active')
    await rig.passAndRest(policy.poll.maxMs + HOUR)
    expect(await unreachable(rig)).toEqual([])
  })
})
