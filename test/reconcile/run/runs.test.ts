import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { LeaseLostError, TransientError } from '../../../src/base/errors.ts'
import { readKinds } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { findAccount, stopAccount } from '../../../src/store/reads/accounts.ts'
import { claimNewRun, claimWaitingRun, RUN_LEASE_MS, requestRun, stopRun } from '../../../src/store/reconcile/claims.ts'
import { listFindings } from '../../../src/store/reconcile/findings.ts'
import { findRun, listRuns } from '../../../src/store/reconcile/runs.ts'
import type { UpstreamClient } from '../../../src/upstream/client.ts'
import { failureOf } from '../../../src/upstream/http/answer.ts'
import { onSqlite, runSql, sqliteDatabase, testDatabases } from '../../tools/databases.ts'
import { hastyClock } from '../../tools/hasty-clock.ts'
import { until } from '../../tools/until.ts'
import { ACCOUNT, RunRig } from '../rig.ts'

/** Our clock, ahead by `ms`: ends leases on SQLite. */
const later = (ms: number) => ({ ...systemClock, now: () => Date.now() + ms })

describe.each(testDatabases)('reconcile runs on $name', (database) => {
  it('a run fills an empty mirror, and the next has nothing to do', async () => {
    const rig = await RunRig.open(database, 5)
    const first = await rig.reconcile()
    expect(first).toMatchObject({ state: 'done', exit_code: 0, submissions_total: 5, submissions_done: 5, unreadable: 0, known: 0 })
    expect(first.repaired).toBe(first.missing + first.different)
    expect(first.missing).toBeGreaterThanOrEqual(10)
    const next = await rig.reconcile()
    expect(next).toMatchObject({ state: 'done', exit_code: 0, missing: 0, different: 0, absent: 0, repaired: 0 })
  })

  it.each([
    ['the state', "update submissions set insured_name = 'Another Insured'"],
    ['what follows from the records', "update submissions set last_event_at = '2030-01-01T00:00:00.000000Z'"],
  ])('a run corrects %s', async (_, damage) => {
    const rig = await RunRig.open(database, 2)
    await rig.reconcile()
    await runSql(rig.db, sql.raw(damage))
    const run = await rig.reconcile()
    expect(run).toMatchObject({ state: 'done', exit_code: 0, missing: 0, absent: 0, repaired: run.different })
    expect(run.different).toBeGreaterThanOrEqual(2)
    expect(await rig.reconcile()).toMatchObject({ state: 'done', exit_code: 0, different: 0, repaired: 0 })
  })

  it('a run of a dead process is resumed, and that process can write nothing more', async () => {
    const rig = await RunRig.open(database, 3)
    const dead = await rig.claim()
    await endLease(rig)
    const taken = await rig.claim({}, await rig.another())
    expect(taken).toMatchObject({ resumed: true, run: { run_id: dead.run.run_id } })
    await expect(rig.work(dead)).rejects.toThrow(LeaseLostError)
    expect(await rig.db.read.sql.selectFrom('market_events').select('event_id').execute()).toEqual([])
    expect(await rig.work(taken)).toMatchObject({ state: 'done', submissions_done: 3, run_id: dead.run.run_id })
  })

  it("visits have the database's time, with any clock of the process", async () => {
    const rig = await RunRig.open(database, 3)
    const wrong = await rig.another(database.name === 'postgres' ? later(86_400_000) : systemClock)
    const before = timeFromMs(Date.now())
    const run = await rig.work(await rig.claim({}, wrong), { db: wrong, clock: wrong.clock })
    const visits = (await proofs(rig)).map((proof) => proof.visited_at)
    const soon = timeFromMs(later(60_000).now())
    for (const time of [...visits, run.started_at ?? '']) expect(time >= before && time < soon, time).toBe(true)
    expect(visits).toHaveLength(3)
    expect(visits.filter((visit) => visit < (run.started_at ?? ''))).toEqual([])
  })
})

describe.each(onSqlite)('reconcile runs on $name', (database) => {
  it('an account has one run at a time', async () => {
    const rig = await RunRig.open(database, 1)
    const claim = await rig.claim()
    const other = await rig.another()
    const busy = await claimNewRun(other, { account: ACCOUNT, options: {}, requestedBy: 'command' })
    expect(busy).toMatchObject({ busy: true, runId: claim.run.run_id })
    expect(await claimWaitingRun(other, ACCOUNT)).toBeNull()
    await rig.work(claim)
    await expect(rig.claim({}, other)).resolves.toMatchObject({ resumed: false })
  })

  it('a new run goes before an interrupted one, which is resumed afterwards', async () => {
    const rig = await RunRig.open(database, 12)
    await rig.reconcile()
    await requestRun(rig.db, { account: ACCOUNT, options: {}, requestedBy: 'cron' })
    rig.sandbox.faults.add({ kind: 'slow', ms: 40, operation: 'events' })
    const stop = new AbortController()
    const from = rig.sandbox.activity.requests.length
    const claimed = await claimWaitingRun(rig.db, ACCOUNT)
    if (claimed === null) throw new Error('nothing waits')
    const dead = rig.work(claimed, { concurrency: 1, onAbort: 'release' }, stop.signal)
    dead.catch(() => undefined)
    await until('some were asked for', () => new Set(rig.asked(from)).size > 3)
    stop.abort()
    await expect(dead).rejects.toThrow(/aborted/)
    rig.sandbox.faults.set([])
    await rig.db.write('test', (tx) => tx.sql.updateTable('market_events').set({ detail: 'wrong' }).execute())
    const looked = await rig.reconcile({ dry_run: true })
    expect(looked).toMatchObject({ state: 'done', exit_code: 3, different: 12 })
    expect(await findRun(rig.db.read, claimed.run.run_id)).toMatchObject({ state: 'running', ended_at: null })
    // Repairs what the dry run visited, and skips what was reconciled before it.
    const resumed = await claimWaitingRun(rig.db, ACCOUNT)
    expect(resumed).toMatchObject({ resumed: true, run: { run_id: claimed.run.run_id } })
    const run = await rig.work(resumed ?? claimed)
    expect(run).toMatchObject({ state: 'done', submissions_done: 12, exit_code: 0 })
    const done = resumed?.run.submissions_done ?? 0
    expect(done).toBeGreaterThan(0)
    expect(run).toMatchObject({ different: 12 - done, repaired: 12 - done })
  })

  it('a stopped run stores its progress, and the next one continues with other submissions', async () => {
    const rig = await RunRig.open(database, 12)
    const stop = new AbortController()
    rig.sandbox.faults.add({ kind: 'slow', ms: 40, operation: 'events' })
    const run = rig.work(await rig.claim(), { concurrency: 1 }, stop.signal)
    run.catch(() => undefined)
    await until('some were asked for', () => new Set(rig.asked()).size > 5)
    stop.abort()
    await expect(run).rejects.toThrow(/aborted/)
    const [stopped] = await listRuns(rig.db.read)
    expect(stopped).toMatchObject({ state: 'stopped', exit_code: 1, note: expect.stringMatching(/of 12 submissions/) })
    const done = new Set((await proofs(rig)).map((row) => row.submission_id))
    expect(done.size).toBeGreaterThan(0)
    expect(done.size).toBeLessThan(12)
    rig.sandbox.faults.set([])
    const from = rig.sandbox.activity.requests.length
    await rig.reconcile({}, { concurrency: 1 })
    const order = [...new Set(rig.asked(from))]
    expect(order.slice(0, 12 - done.size).filter((id) => done.has(id))).toEqual([])
    expect(order).toHaveLength(12)
  })

  it('a run stopped by another process ends, and the account is free', async () => {
    const rig = await RunRig.open(database, 12)
    rig.sandbox.faults.add({ kind: 'slow', ms: 40, operation: 'events' })
    const claim = await rig.claim()
    const work = rig.work(claim, { concurrency: 1 })
    await until('some were asked for', () => new Set(rig.asked()).size > 5)
    const other = await rig.another()
    expect(await stopRun(other, claim.run, 'alice stopped it')).toBe(true)
    const ended = { run_id: claim.run.run_id, state: 'stopped', exit_code: 4, note: 'alice stopped it', ended_at: expect.any(String) }
    expect(await work).toMatchObject(ended)
    expect(await findRun(other.read, claim.run.run_id)).toMatchObject(ended)
    expect(new Set(rig.asked()).size).toBeLessThan(12)
    expect(await stopRun(other, claim.run, 'bob stopped it')).toBe(false)
    rig.sandbox.faults.set([])
    expect(await rig.reconcile()).toMatchObject({ state: 'done', submissions_done: 12 })
  })

  it('a run whose budget ends reports n of m and exits 4; the next one continues with the oldest reconciliation', async () => {
    const rig = await RunRig.open(database, 6)
    await rig.reconcile()
    const before = new Map((await proofs(rig)).map((row) => [row.submission_id, row.reconciled_at]))
    let now = Date.now()
    // Each reading of the clock takes a second.
    const clock = { ...systemClock, now: () => (now += 1_000) }
    const run = await rig.reconcile({}, { concurrency: 1, budgetMs: 20_000, clock })
    expect(run).toMatchObject({ state: 'budget', exit_code: 4, note: expect.stringMatching(/after \d of 6 submissions/) })
    const done = (await proofs(rig)).filter((row) => row.run_id === run.run_id).map((row) => row.submission_id)
    expect(done).toHaveLength(run.submissions_done)
    expect(done.length).toBeLessThan(6)
    const oldest = [...before]
      .map(([id, at]) => `${at} ${id}`)
      .sort()
      .map((text) => text.split(' ')[1])
    expect(new Set(done)).toEqual(new Set(oldest.slice(0, done.length)))
    const from = rig.sandbox.activity.requests.length
    await rig.reconcile({}, { concurrency: 1 })
    expect(
      rig
        .asked(from)
        .slice(0, 6 - done.length)
        .filter((id) => done.includes(id)),
    ).toEqual([])
  })

  it('options limit the submissions', async () => {
    const rig = await RunRig.open(database, 4)
    const [first = '', second = '', third = ''] = rig.ids
    expect(await rig.reconcile({ submissions: [first, third] })).toMatchObject({ submissions_total: 2, submissions_done: 2 })
    const old = '2020-01-01T00:00:00.000000Z'
    await rig.db.write('test', (tx) =>
      tx.sql.updateTable('sync_reads').set({ active_at: old }).where('submission_id', '<>', second).execute(),
    )
    expect(await rig.reconcile({ since: '2021-01-01T00:00:00.000000Z' })).toMatchObject({ submissions_total: 1, submissions_done: 1 })
    expect(await rig.reconcile({ active_only: true })).toMatchObject({ submissions_total: 1, submissions_done: 1 })
    const from = rig.sandbox.activity.requests.length
    await rig.reconcile({ no_state: true })
    expect(rig.asked(from)).toEqual([])
  })

  it('concurrent reads are limited, including second reads', async () => {
    const rig = await RunRig.open(database, 6)
    await rig.reconcile()
    for (const id of rig.ids) {
      const [shown] = rig.sandbox.truth(ACCOUNT, id)
      rig.sandbox.setFacts(ACCOUNT, id, { state: 'CA' })
      rig.sandbox.world
        .submission(ACCOUNT, id)
        .events.amend(String(shown?.events[0]?.id), { detail: 'Outside of appetite', status: 'declined' })
      rig.sandbox.concealItems(ACCOUNT, id, [String(shown?.messages[0]?.id)])
    }
    const [under, most] = [new Set<unknown>(), { reads: 0 }]
    const counted =
      <A extends unknown[], T>(read: (...args: A) => Promise<T>) =>
      (...args: A): Promise<T> => {
        const reading = read(...args).finally(() => under.delete(reading))
        most.reads = Math.max(most.reads, under.add(reading).size)
        return reading
      }
    const { events, thread, state } = rig.client
    const client = { ...rig.client, events: counted(events), thread: counted(thread), state: counted(state) }
    const run = await rig.reconcile({ concurrency: 1 }, { client })
    expect(run).toMatchObject({ state: 'done', exit_code: 0, absent: 6 })
    expect(most.reads).toBe(1)
  })

  it('a reason is stored without invalid characters', async () => {
    const rig = await RunRig.open(database, 8)
    const refuse = async (submissionId: string) => {
      const call = { operation: 'events', submissionId, withCursor: false } as const
      throw failureOf(call, { status: 403, headers: {}, body: '{"detail":"broken \\u0000 row"}' }, 0)
    }
    const client = { ...rig.client, events: refuse, thread: refuse }
    // Ignores pauses between attempts.
    const run = await rig.reconcile({ no_state: true }, { concurrency: 1, client, clock: hastyClock })
    expect(run).toMatchObject({ state: 'failed', exit_code: 1, note: expect.stringMatching(/rejects every read: .*broken \uFFFD row/) })
    const details = (await listFindings(rig.db.read, { runId: run.run_id, kind: 'unreadable' })).map(({ detail }) => detail)
    expect(details.length).toBeGreaterThan(0)
    for (const detail of details) expect(detail).toMatch(/could not be read in .*broken \uFFFD row/)
    await expect(rig.claim()).resolves.toMatchObject({ resumed: false })
  })

  it('credentials of another brokerage check and mark nothing', async () => {
    const rig = await RunRig.open(database, 2)
    await rig.reconcile()
    rig.sandbox.account(ACCOUNT).brokerage = { id: 'other', name: 'Another brokerage' }
    expect(await rig.reconcile()).toMatchObject({
      state: 'failed',
      exit_code: 1,
      submissions_done: 0,
      submissions_total: 2,
      note: expect.stringMatching(/^it ended after 0 of 2 submissions; .*brokerage/),
    })
  })

  it('a run pins an unpinned brokerage, a dry run does not', async () => {
    const rig = await RunRig.open(database, 1)
    const pinned = async () => (await findAccount(rig.db.read, ACCOUNT))?.brokerage
    await rig.reconcile({ dry_run: true })
    expect(await pinned()).toBeNull()
    await rig.reconcile()
    expect(await pinned()).toEqual(expect.any(String))
  })
})

it('a run broken by the store can be resumed immediately', async () => {
  const rig = await RunRig.open(sqliteDatabase, 1)
  const claim = await rig.claim()
  const state = async () => {
    throw new TransientError('the store is away')
  }
  await expect(rig.work(claim, { client: { ...rig.client, state } })).rejects.toThrow('the store is away')
  expect(await claimNewRun(rig.db, { account: ACCOUNT, options: {}, requestedBy: 'command' })).toMatchObject({
    resumed: true,
    run: { run_id: claim.run.run_id, state: 'running' },
  })
})

it('stopping an account ends its run', async () => {
  const rig = await RunRig.open(sqliteDatabase, 8)
  let looks = 0
  const onProgress = () => {
    looks += 1
  }
  const clock = { ...systemClock, sleep: (_: number, signal?: AbortSignal) => systemClock.sleep(1, signal) }
  const client: UpstreamClient = {
    ...rig.client,
    state: async (...asked) => {
      await stopAccount(rig.db, ACCOUNT, 'suspended', 'the credentials were refused', 900_000)
      const before = looks
      await until('it has looked again', () => looks > before + 1)
      return await rig.client.state(...asked)
    },
  }
  const run = await rig.reconcile({}, { client, clock, concurrency: 1, onProgress })
  const note = expect.stringMatching(/^it ended after \d of 8 submissions; .*: account default is suspended: the credentials were refused/)
  expect(run).toMatchObject({ state: 'failed', exit_code: 1, note })
  expect(run.submissions_done).toBeLessThan(8)
})

it('trap 49: a pause beyond the budget ends the run like its budget, without unreadable submissions', async () => {
  const rig = await RunRig.open(sqliteDatabase, 4)
  rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'events', retryAfterSeconds: 3_600, count: 1 })
  const run = await rig.reconcile({}, { concurrency: 1 })
  const note = expect.stringMatching(
    /^it ended after \d of 4 submissions; .*: the service asks for a pause until .*Z \(503 with Retry-After to GET …\/events\)/,
  )
  expect(run).toMatchObject({ state: 'budget', exit_code: 4, unreadable: 0, note })
})

it('an outage of the service ends the run', async () => {
  const rig = await RunRig.open(sqliteDatabase, 8)
  for (const operation of ['requirements', 'events', 'thread'] as const) rig.sandbox.faults.add({ kind: 'status', status: 503, operation })
  const run = await rig.reconcile({ no_state: true }, { concurrency: 1, clock: hastyClock })
  expect(run).toMatchObject({ state: 'failed', exit_code: 1, note: expect.stringContaining('no longer answers') })
  expect(run.submissions_done).toBeLessThan(8)
  expect(await listFindings(rig.db.read, { runId: run.run_id, kind: 'unreadable' })).not.toEqual([])
})

it("unreadable submissions don't end a run while others are readable", async () => {
  const rig = await RunRig.open(sqliteDatabase, 7)
  // Two run at a time, so these three are never consecutive.
  const failing = [rig.ids[0], rig.ids[3], rig.ids[6]]
  for (const submissionId of failing)
    for (const operation of readKinds) rig.sandbox.faults.add({ kind: 'status', status: 403, operation, submissionId })
  const run = await rig.reconcile({}, { concurrency: 1, clock: hastyClock })
  expect(run).toMatchObject({ state: 'done', submissions_done: 7, unreadable: 9 })
})

it('a service that refuses every read ends the run', async () => {
  const rig = await RunRig.open(sqliteDatabase, 8)
  for (const operation of readKinds) rig.sandbox.faults.add({ kind: 'status', status: 403, operation })
  const run = await rig.reconcile({}, { concurrency: 1, clock: hastyClock })
  expect(run).toMatchObject({ state: 'failed', exit_code: 1, note: expect.stringContaining('rejects every read') })
  expect(run.submissions_done).toBeLessThan(8)
})

/** As if its process died long ago. */
async function endLease(rig: RunRig): Promise<void> {
  const past = new Date(later(-RUN_LEASE_MS).now()).toISOString().replace('Z', '000Z')
  await rig.db.write('test', (tx) => tx.sql.updateTable('sync_reconcile').set({ lease_until: past }).execute())
}

function proofs(rig: RunRig) {
  return rig.db.read.sql.selectFrom('sync_reconciled').selectAll().execute()
}
