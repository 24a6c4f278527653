import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { readKinds } from '../../../src/model/reads.ts'
import { type TimeText, timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { takeReadNumber } from '../../../src/store/reads/reads.ts'
import {
  claimNewRun,
  claimWaitingRun,
  endAbandonedRuns,
  endRun,
  ensureReconcileRows,
  lockRun,
  type RunClaim,
  releaseRun,
  renewLease,
  requestRun,
  stopRun,
} from '../../../src/store/reconcile/claims.ts'
import { countFirstSeen, mirrorFigures } from '../../../src/store/reconcile/figures.ts'
import {
  countFindings,
  deleteFindings,
  type FindingRow,
  insertFindings,
  isMisnamedReported,
  listFindings,
  sumFindings,
} from '../../../src/store/reconcile/findings.ts'
import { idsOfSubmission } from '../../../src/store/reconcile/known-ids.ts'
import { withLeft } from '../../../src/store/reconcile/left.ts'
import { restoreReads, saveProgress } from '../../../src/store/reconcile/progress.ts'
import { isDestinationReported, pushDestinations, reopenStreams, undeliveredAfter } from '../../../src/store/reconcile/pushes.ts'
import {
  candidatesById,
  candidatesByReconciled,
  candidatesOf,
  newestReconciled,
  nextOtherRunStart,
} from '../../../src/store/reconcile/queue.ts'
import { endedRuns, findRun, lastEndedRun, listRuns, NOTHING_DONE } from '../../../src/store/reconcile/runs.ts'
import { requestSlot } from '../../../src/store/reconcile/slots.ts'
import type { RunOptions } from '../../../src/store/schema/reconcile.ts'
import { storedRow } from '../../push/outbox.ts'
import { findingRow } from '../../reconcile/report/sample.ts'
import { insertRows, runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  at,
  byPoll,
  byWebhook,
  idFacts,
  observedEvent,
  observedMessage,
  uuid,
  wireById,
  wireEvent,
  wireMessage,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const [ONE, TWO, THREE] = [uuid(9, 1), uuid(9, 2), uuid(9, 3)]
const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

describe.each(testDatabases)('the tables of reconciliation on $name', (database) => {
  async function opened(clock = new ManualClock(Date.now())): Promise<Db> {
    const { db } = await closedAtEnd(database.open({ clock }))
    await ensureAccounts(db, ['acme', 'zenith'])
    return db
  }

  async function claimed(db: Db, options: RunOptions = {}, account = 'acme'): Promise<RunClaim> {
    const claim = await claimNewRun(db, { account, options, requestedBy: 'command' })
    if ('busy' in claim) throw new Error(`run ${claim.runId} is in progress`)
    return claim
  }

  const letLeasesEnd = (db: Db) => runSql(db, sql`update sync_reconcile set lease_until = ${time(0)} where lease_token is not null`)

  describe('runs', () => {
    it('belong to one process at a time, and continue in the next', async () => {
      const db = await opened()
      const first = await claimed(db)
      expect(first).toMatchObject({ resumed: false, run: { account: 'acme', state: 'running', requested_by: 'command' } })
      const again = await claimNewRun(db, { account: 'acme', options: {}, requestedBy: 'cron' })
      expect(again).toMatchObject({ busy: true, runId: first.run.run_id })
      expect(await claimWaitingRun(db, 'acme')).toBeNull()
      await claimed(db, {}, 'zenith')
      await letLeasesEnd(db)
      const second = await claimWaitingRun(db, 'acme')
      expect(second).toMatchObject({ resumed: true, run: { run_id: first.run.run_id } })
      for (const late of [renewLease, lockRun]) await expect(db.write('test', (tx) => late(tx, first))).rejects.toThrow(LeaseLostError)
      await expect(endRun(db, first, { state: 'done', exitCode: 0, note: null })).rejects.toThrow(LeaseLostError)
      if (!second) throw new Error('nothing was claimed')
      await db.write('test', (tx) => renewLease(tx, second))
      await releaseRun(db, second)
      const third = await claimed(db)
      expect(third.run.run_id).toBe(first.run.run_id)
      await endRun(db, third, { state: 'done', exitCode: 0, note: 'all agrees' })
      expect(await findRun(db.read, first.run.run_id.toUpperCase())).toMatchObject({ state: 'done', exit_code: 0, note: 'all agrees' })
      expect(await claimWaitingRun(db, 'acme')).toBeNull()
    })

    it('that a dry run was resumed restarts, and one with other options waits', async () => {
      const db = await opened()
      const dry = await claimed(db, { dry_run: true })
      await saveProgress(db, dry, { ...NOTHING_DONE, submissions_done: 3 }, [])
      await letLeasesEnd(db)
      const other = await claimed(db, { no_state: true })
      expect(other).toMatchObject({ resumed: false })
      await endRun(db, other, { state: 'done', exitCode: 0, note: null })
      expect(await claimWaitingRun(db, 'acme')).toMatchObject({ resumed: true, run: { run_id: dry.run.run_id, submissions_done: 0 } })
    })

    it('are requested once, listed, stopped, and ended when their account is no longer served', async () => {
      const clock = new ManualClock(Date.now())
      const db = await opened(clock)
      const request = (account: string, options: RunOptions = {}) => requestRun(db, { account, options, requestedBy: 'admin:alice' })
      const whole = await request('acme')
      expect(await request('acme', { concurrency: 4 })).toBe(whole)
      clock.advance(1_000)
      const since = timeFromMs(clock.now())
      const narrow = await request('acme', { submissions: [ONE] })
      clock.advance(1_000)
      const other = await request('zenith')
      const ids = async (filter: Parameters<typeof listRuns>[1]) => (await listRuns(db.read, filter)).map(({ run_id }) => run_id)
      expect(await ids({})).toEqual([other, narrow, whole])
      const narrowed = [{ account: 'acme' }, { since }, { limit: 1 }, { state: 'running' as const }]
      expect(await Promise.all(narrowed.map(ids))).toEqual([[narrow, whole], [other, narrow], [other], []])
      const position = await findRun(db.read, narrow)
      expect(await ids({ after: { requestedAt: position?.requested_at ?? '', runId: narrow } })).toEqual([whole])
      await ensureReconcileRows(db, ['acme'])
      expect(await claimWaitingRun(db, 'acme')).toMatchObject({ resumed: false, run: { run_id: whole } })
      const stop = (note: string) => stopRun(db, { account: 'acme', run_id: whole }, note)
      expect([await stop('by alice'), await stop('again')]).toEqual([true, false])
      expect(await findRun(db.read, whole)).toMatchObject({ state: 'stopped', exit_code: 4, note: 'by alice' })
      await endAbandonedRuns(db, ['acme'])
      expect([await ids({ state: 'stopped' }), await ids({ state: 'requested' })]).toEqual([[other, whole], [narrow]])
    })

    it('that ended are listed up to the newest complete one', async () => {
      const clock = new ManualClock(Date.now())
      const db = await opened(clock)
      const ended: string[] = []
      for (const options of [{}, { no_state: true }, { since: time(0) }, { submissions: [ONE] }] as RunOptions[]) {
        const claim = await claimed(db, options)
        await endRun(db, claim, { state: options.submissions ? 'stopped' : 'done', exitCode: 0, note: null })
        ended.push(claim.run.run_id)
        clock.advance(1_000)
      }
      expect((await endedRuns(db.read, 'acme')).map(({ run_id }) => run_id)).toEqual([ended[2], ended[1]])
      expect([(await lastEndedRun(db.read, 'acme'))?.run_id, await lastEndedRun(db.read, 'zenith')]).toEqual([ended[1], null])
    })

    it('of a scheduled time run once, again after a failure, and are skipped while another does the same', async () => {
      const clock = new ManualClock(Date.now())
      const db = await opened(clock)
      const slot = () => timeFromMs(clock.now())
      expect(await requestSlot(db, 'acme', slot())).toBe('before')
      await endRun(db, await claimed(db), { state: 'done', exitCode: 0, note: null })
      await runSql(db, sql`update sync_reconcile set since = ${timeFromMs(clock.now() - 1_000)}`)
      const first = slot()
      expect([await requestSlot(db, 'acme', first), await requestSlot(db, 'acme', first)]).toEqual(['requested', 'taken'])
      clock.advance(60_000)
      expect(await requestSlot(db, 'acme', slot())).toBe('skipped')
      const claim = await claimWaitingRun(db, 'acme')
      if (!claim) throw new Error('nothing waits')
      await endRun(db, claim, { state: 'failed', exitCode: 1, note: 'the service is away' })
      expect(await requestSlot(db, 'acme', first)).toBe('taken')
      clock.advance(15 * 60_000)
      await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ state: 'active' }).execute())
      expect([await requestSlot(db, 'acme', first), await requestSlot(db, 'acme', first)]).toEqual(['again', 'taken'])
    })
  })

  it('findings are stored once, counted by kind, and show what is unresolved', async () => {
    const db = await opened()
    const claim = await claimed(db)
    const { run_id } = claim.run
    const finding = (no: number, over: Partial<FindingRow> = {}): FindingRow =>
      findingRow(run_id, no, { account: 'acme', submission_id: ONE, found_at: time(1), ...over })
    const difference = [{ field: 'detail', mirror: null, service: 'said' }]
    const all = [
      finding(1, { repaired_at: time(2) }),
      finding(2, { kind: 'different', fields: difference, submission_id: TWO }),
      finding(3, { kind: 'unreadable', read: 'events', entity: null }),
      finding(4, { known: true }),
      finding(5, { kind: 'absent', entity: 'submissions', submission_id: THREE }),
      finding(6, { kind: 'undelivered', entity: 'changes', submission_id: null, destination: 'ams', seq: 7 }),
    ]
    const counts = { missing: 1, different: 1, unreadable: 1, absent: 1, undelivered: 1, known: 1, repaired: 1 }
    expect(await db.write('test', (tx) => insertFindings(tx, all))).toEqual(counts)
    expect(await db.write('test', (tx) => insertFindings(tx, all.slice(0, 1)))).toEqual({ missing: 0, repaired: 0 })
    expect(await sumFindings(db.read, run_id)).toEqual({ counts: { ...counts, lost: 0, moved: 0 }, lastNo: 6 })
    const numbers = async (filter: object) =>
      (await listFindings(db.read, { runId: run_id, ...filter })).map(({ finding_no }) => finding_no)
    expect(await listFindings(db.read, { runId: run_id })).toEqual(all)
    const narrowed = [{ kind: 'missing' }, { known: true }, { submissionId: TWO }, { after: 4 }, { limit: 2 }]
    expect(await Promise.all(narrowed.map(numbers))).toEqual([[1, 4], [4], [2], [5, 6], [1, 2]])
    expect(
      (await countFindings(db.read, run_id)).map((one) => [one.kind, one.known, one.entity, Number(one.total), Number(one.repaired)]),
    ).toContainEqual(['missing', false, 'market_events', 1, 1])

    const row = { ...claim.run, missing: 1, different: 1, absent: 1, unreadable: 1, repaired: 1 }
    expect((await withLeft(db.read, row)).left).toEqual({ differences: 2, unreadable: 1 })
    await saveProgress(db, claim, NOTHING_DONE, [
      { submissionId: ONE, at: time(9), isReconciled: true },
      { submissionId: TWO, at: time(9), isReconciled: false },
    ])
    await runSql(db, sql`update sync_reconciled set reconciled_at = ${time(9)} where submission_id = ${ONE}`)
    expect((await withLeft(db.read, row)).left).toEqual({ differences: 2, unreadable: 0 })

    const misnamed = (account: string, id: string, asking: string) => isMisnamedReported(db.read, account, id, asking)
    expect(await misnamed('acme', THREE, uuid(8, 9))).toBe(true)
    expect([await misnamed('acme', THREE, run_id), await misnamed('zenith', THREE, uuid(8, 9))]).toEqual([false, false])
    const reported = (seq: number | null, asking = uuid(8, 9)) =>
      isDestinationReported(db.read, { account: 'acme', destination: 'ams', entity: 'changes', seq }, asking)
    expect([await reported(7), await reported(null), await reported(7, run_id)]).toEqual([true, false, false])
    await runSql(db, sql`update reconcile_runs set options = '{"dry_run":true}'`)
    expect([await misnamed('acme', THREE, uuid(8, 9)), await reported(7)], 'a dry run only looks').toEqual([false, false])
    await deleteFindings(db, claim)
    expect(await listFindings(db.read, { runId: run_id })).toEqual([])
  })

  it('the submissions to visit are those of the account in any table, with their state', async () => {
    const db = await opened()
    const claim = await claimed(db)
    await applyAll(db, [
      observedEvent('acme', ONE, wireEvent(1)),
      observedEvent('acme', TWO, wireEvent(2)),
      observedEvent('zenith', uuid(9, 7), wireEvent(3)),
    ])
    const set = (id: string, values: object) =>
      db.write('test', (tx) =>
        tx.sql.updateTable('sync_reads').set(values).where('account', '=', 'acme').where('submission_id', '=', id).execute(),
      )
    await set(ONE, { last_full_read_at: time(1), last_read_at: time(2), active_at: time(3) })
    await set(TWO, { active_at: timeFromMs(Date.now()) })
    await db.write('test', async (tx) => {
      await tx.sql.deleteFrom('submissions').where('submission_id', '=', TWO).execute()
      await tx.run(sql`update submissions set unreachable_since = ${time(4)} where submission_id = ${ONE}`)
    })
    const proof = (submissionId: string, minute: number, isReconciled = true) => ({ submissionId, at: time(minute), isReconciled })
    await saveProgress(db, claim, NOTHING_DONE, [proof(THREE, 5), proof(ONE, 6), proof(uuid(9, 4), 7, false)])
    await saveProgress(db, claim, NOTHING_DONE, [proof(ONE, 8, false)])

    const found = await candidatesById(db.read, 'acme', {}, '', 10)
    expect(found.map(({ submissionId, unpolled, firstEvents, wanted }) => [submissionId, unpolled, firstEvents, wanted])).toEqual([
      [ONE, false, false, true],
      [TWO, false, true, true],
      [THREE, true, true, true],
    ])
    expect(found[0]).toMatchObject({
      runId: claim.run.run_id,
      eventsReadAt: time(2),
      threadReadAt: time(2),
      firstThread: false,
      unreachableSince: time(4),
    })
    const near = (a: TimeText | null | undefined, b: TimeText) => Math.abs(Date.parse(a ?? '') - Date.parse(b)) < 60_000
    expect([near(found[0]?.visitedAt, time(8)), near(found[0]?.reconciledAt, time(6)), found[1]?.reconciledAt]).toEqual([true, true, null])
    const ids = (candidates: typeof found) => candidates.map(({ submissionId }) => submissionId)
    expect(ids(await candidatesById(db.read, 'acme', {}, ONE, 1))).toEqual([TWO])
    expect(ids(await candidatesOf(db.read, 'acme', {}, [THREE, uuid(9, 4), uuid(9, 7)]))).toEqual([THREE])
    expect(ids(await candidatesByReconciled(db.read, 'acme', {}, null, 10))).toEqual([THREE, ONE])
    const [oldest] = await candidatesByReconciled(db.read, 'acme', {}, null, 1)
    const position = { reconciledAt: oldest?.reconciledAt ?? '', submissionId: THREE }
    expect(ids(await candidatesByReconciled(db.read, 'acme', {}, position, 10))).toEqual([ONE])
    const wanted = async (options: RunOptions) => ids((await candidatesById(db.read, 'acme', options, '', 10)).filter((one) => one.wanted))
    expect([await wanted({ since: time(3) }), await wanted({ since: time(4) }), await wanted({ active_only: true })]).toEqual([
      [ONE, TWO, THREE],
      [TWO, THREE],
      [TWO, THREE].concat(Date.now() - Date.parse(time(3)) < 90 * 86_400_000 ? [ONE] : []).sort(),
    ])
    expect([near(await newestReconciled(db.read, 'acme'), time(6)), await newestReconciled(db.read, 'zenith')]).toEqual([true, null])
    expect(await nextOtherRunStart(db.read, claim.run)).toBeNull()
    await letLeasesEnd(db)
    const later = await claimed(db, { no_state: true })
    await runSql(db, sql`update reconcile_runs set started_at = ${time(1)} where run_id = ${claim.run.run_id}`)
    expect(await nextOtherRunStart(db.read, { ...claim.run, started_at: time(1) })).toBe(later.run.started_at)
  })

  it('a read takes a greater number each time, lost reads come back, and the ids of a submission are those of any table', async () => {
    const db = await opened()
    await applyAll(db, [observedEvent('acme', ONE, wireEvent(1)), ...idFacts('acme', ONE)])
    const take = (id = ONE) => takeReadNumber(db, { account: 'acme', submissionId: id, read: 'requirements' })
    const [first, second, none] = [await take(), await take(), await take(TWO)]
    expect([(second ?? 0) > (first ?? 0), none]).toEqual([true, null])
    await db.write('test', (tx) => tx.sql.deleteFrom('sync_reads').where('submission_id', '=', ONE).where('read', '<>', 'events').execute())
    await restoreReads(db, 'acme', ONE)
    expect(
      (await db.read.sql.selectFrom('sync_reads').select('read').where('submission_id', '=', ONE).execute()).map(({ read }) => read).sort(),
    ).toEqual([...readKinds].sort())
    const { ids } = wireById(ONE)
    await db.write('test', (tx) => tx.sql.deleteFrom('sync_reads').where('read', '=', 'policy').execute())
    const known = await idsOfSubmission(db.read, 'acme', ONE)
    expect(known).toContainEqual({ kind: 'policy', id: ids.policy, isKnown: false })
    expect(known[0]?.kind).toBe('bind_request')
    expect(await idsOfSubmission(db.read, 'zenith', ONE)).toEqual([])
  })

  it('undelivered changes are reported with their reason, and lost streams are reopened', async () => {
    const db = await opened()
    await applyAll(db, [observedEvent('acme', ONE, wireEvent(1))])
    const row = (n: number, over: object) => storedRow(n, ONE, { submission_id: ONE, queued_at: time(n), ...over })
    const both = ['ams', 'crm'].map((name) => ({ name, start: 0 }))
    await ensureDestinations(db, both)
    const now = timeFromMs(Date.now())
    const refused = row(1, { state: 'dead', status: 422, error: 'no' })
    for (const one of [refused, row(2, {}), row(3, { queued_at: now, stream: TWO }), row(4, { destination: 'crm' })])
      await insertRows(db, 'sync_outbox', one)
    await runSql(db, sql`update changes set changed_at = ${time(1)}`)
    const dead = await undeliveredAfter(db.read, 'ams', 'dead', 0, 10, uuid(8, 1))
    expect(dead).toMatchObject([{ seq: 1, status: 422, error: 'no', overdue: true, reported: false, stream_lost: false, blocked: null }])
    const ready = () => undeliveredAfter(db.read, 'ams', 'ready', 0, 10, uuid(8, 1))
    expect((await ready()).map(({ seq, overdue, stream_lost }) => [seq, overdue, stream_lost])).toEqual([
      [2, true, true],
      [3, false, true],
    ])
    expect(await undeliveredAfter(db.read, 'ams', 'ready', (await ready())[0]?.outbox_id ?? 0, 10, uuid(8, 1))).toHaveLength(1)
    await reopenStreams(db, [{ destination: 'ams', account: 'acme', stream: ONE }])
    expect((await ready()).map(({ stream_lost }) => stream_lost)).toEqual([false, true])
    const [seq] = await db.read.sql.selectFrom('changes').select('seq').where('account', '=', 'acme').orderBy('seq').limit(1).execute()
    expect(await pushDestinations(db.read, 'acme', ['ams'])).toEqual([
      { destination: 'ams', state: 'active', behind: { seq: seq?.seq, changedAt: time(1) } },
      { destination: 'crm', state: 'active', behind: null },
    ])
    expect(await pushDestinations(db.read, 'zenith', ['ams'])).toMatchObject([{ behind: null }, { behind: null }])
  })

  it('figures count an account’s records by when and how they were first seen', async () => {
    const db = await opened()
    await applyAll(db, [
      observedEvent('acme', ONE, wireEvent(1), byWebhook),
      observedEvent('acme', ONE, wireEvent(2), byPoll),
      observedEvent('acme', ONE, wireEvent(3), byPoll),
      observedMessage('acme', TWO, wireMessage(4), byPoll),
      observedEvent('zenith', ONE, wireEvent(5)),
    ])
    const seen = async () =>
      (await countFirstSeen(db.read, 'acme')).map(({ at: when, via, entity, count }) => [when, via, entity, Number(count)])
    for (const [n, minute] of [0, 0, 61].entries())
      await runSql(db, sql`update market_events set first_seen_at = ${time(minute)} where event_id = ${uuid(1, n + 1)}`)
    await runSql(db, sql`update thread_messages set first_seen_at = ${time(1)}`)
    expect(await seen()).toEqual([
      [time(0), 'poll', 'market_events', 1],
      [time(0), 'webhook', 'market_events', 1],
      [time(61), 'poll', 'market_events', 1],
      [time(1), 'poll', 'thread_messages', 1],
    ])
    expect(await countFirstSeen(db.read, 'nobody')).toEqual([])
    await runSql(db, sql`update submissions set unreachable_since = ${time(2)} where submission_id = ${TWO}`)
    expect(await mirrorFigures(db.read, 'acme')).toMatchObject({ database: database.name, submissions: 2, unreachable: 1, firstSeq: 1 })
    expect((await mirrorFigures(db.read, 'acme')).trackedVia.map(({ submissions }) => Number(submissions)).reduce((a, b) => a + b)).toBe(2)
  })
})
