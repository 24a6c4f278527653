import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { type TimeText, timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { dbTime } from '../../../src/store/engine/sql.ts'
import {
  actionInProgress,
  auditAction,
  auditedDb,
  beginAction,
  endAction,
  listActions,
  noteFollowing,
  recordProgress,
  unfinishedActions,
} from '../../../src/store/operators/actions.ts'
import { acknowledgeAlarms, listEpisodes } from '../../../src/store/operators/alarm-history.ts'
import * as asked from '../../../src/store/operators/alarm-queries.ts'
import {
  type AlarmPlan,
  type AlarmRow,
  claimWatch,
  evaluatedAt,
  listAlarms,
  listNotices,
  type NewNotice,
  reportAlarm,
  storeEvaluation,
} from '../../../src/store/operators/alarms.ts'
import { beginSession, endSession, findSession, noteSessionSeen } from '../../../src/store/operators/console-sessions.ts'
import { claimNotices, countUnsent, settleNotice } from '../../../src/store/operators/notices.ts'
import { oldestBehind, oldestReady } from '../../../src/store/operators/push-alarm-queries.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { rank } from '../../../src/store/reads/reads.ts'
import { ensureReconcileRows, requestRun } from '../../../src/store/reconcile/claims.ts'
import { storedRow } from '../../push/outbox.ts'
import { insertRows, runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { at, byPoll, byWebhook, observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { letSessionsAge } from './session-time.ts'

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]
const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

describe.each(testDatabases)('the tables of operators on $name', (database) => {
  async function opened(): Promise<Db> {
    const { db } = await closedAtEnd(database.open())
    return db
  }

  describe('operator actions', () => {
    const note = { who: 'alice', action: 'destination.pause', target: 'ams', detail: { reason: 'it moves' } }
    const entries = (db: Db) =>
      listActions(db.read, {}, 10).then((all) => all.map(({ who, action, outcome, detail }) => [who, action, outcome, detail]))

    it('are recorded with their change, or not at all', async () => {
      const db = await opened()
      const audited = auditedDb(db, note)
      await audited.write('test', (tx) => tx.sql.updateTable('mirror_info').set({ log_epoch: 'e' }).execute())
      await expect(audited.write('test', () => Promise.reject(new Error('it failed')))).rejects.toThrow('it failed')
      expect(await entries(db)).toEqual([['alice', 'destination.pause', 'done', note.detail]])
    })

    it('are one entry an hour for each list that a program follows', async () => {
      const db = await opened()
      const shown = (from: number, to: number, of: { who?: string; target?: string | null; account?: string | null } = {}) => {
        const { who = 'copier', target = null, account = null } = of
        return noteFollowing(db, { who, action: 'changes.list', target, detail: { account, from, to, changes: to - from + 1 } })
      }
      for (const of of [{}, { who: 'bob' }, { target: 'quotes' }, { account: 'acme' }]) {
        await shown(6, 9, of)
        await shown(10, 12, of)
        await shown(1, 2, of)
      }
      const detail = { account: null, from: 1, to: 12, changes: 9 }
      expect((await entries(db)).map(([who, , , each]) => [who, each])).toEqual([
        ['copier', { ...detail, account: 'acme' }],
        ['copier', detail],
        ['bob', detail],
        ['copier', detail],
      ])
      await db.write('test', (tx) => tx.run(sql`update operator_actions set at = ${dbTime(tx, -3_601_000)}`))
      await shown(13, 13)
      expect(await entries(db)).toHaveLength(5)
    })

    it('are recorded before they begin, and completed with their result', async () => {
      const db = await opened()
      const during: unknown[] = []
      await auditAction(db, note, async () => {
        during.push((await entries(db))[0]?.[2])
        return { detail: { rows: 3 } }
      })
      await auditAction(db, { ...note, who: 'bob' }, async () => ({ detail: {}, failed: true }))
      await expect(auditAction(db, { ...note, action: 'a.b' }, () => Promise.reject(new Error('away')))).rejects.toThrow('away')
      expect(during).toEqual(['begun'])
      expect(await entries(db)).toEqual([
        ['alice', 'a.b', 'failed', note.detail],
        ['bob', 'destination.pause', 'failed', note.detail],
        ['alice', 'destination.pause', 'done', { ...note.detail, rows: 3 }],
      ])
      const ids = async (filter: Parameters<typeof listActions>[1], limit = 10) =>
        (await listActions(db.read, filter, limit)).map(({ action_id }) => action_id)
      const [third = 0, second = 0, first = 0] = await ids({})
      expect(await ids({ who: 'bob' })).toEqual([second])
      expect(await ids({ action: 'destination.pause', after: second })).toEqual([first])
      expect(await ids({}, 1)).toEqual([third])
      const since = (ms: number) => ids({ since: timeFromMs(Date.now() + ms) })
      expect([await since(60_000), await since(-60_000)]).toEqual([[], [third, second, first]])
    })

    it('can be gone on with until it ends', async () => {
      const db = await opened()
      const id = await beginAction(db, note)
      await beginAction(db, { ...note, target: 'crm' })
      const open = async () => (await unfinishedActions(db.read, note, 60_000)).map(({ action_id, detail }) => [action_id, detail])
      await db.write('test', (tx) => recordProgress(tx, id, { done: 7 }))
      expect([await open(), await db.write('test', (tx) => actionInProgress(tx, id))]).toEqual([[[id, { done: 7 }]], { done: 7 }])
      await endAction(db, id, 'done', { done: 9 })
      expect([await open(), await db.write('test', (tx) => actionInProgress(tx, id))]).toEqual([[], null])
      const old = await beginAction(db, note)
      await runSql(db, sql`update operator_actions set at = ${timeFromMs(Date.now() - 120_000)} where action_id = ${old}`)
      expect(await open()).toEqual([])
    })
  })

  describe('alarms', () => {
    const alarm = (over: Partial<AlarmRow> = {}): AlarmRow => ({
      name: 'silent',
      account: 'acme',
      destination: '',
      state: 'firing',
      severity: 'warning',
      since: time(0),
      last_at: time(1),
      resolved_at: null,
      text: 'Nothing comes.',
      notified_at: null,
      ...over,
    })
    const notice = (n: number, over: Partial<NewNotice> = {}): NewNotice => ({
      operator: 'ops',
      name: 'silent',
      account: 'acme',
      destination: '',
      notice_id: `n${n}`,
      kind: 'firing',
      body: '{}',
      queued_at: time(2),
      sent: false,
      ...over,
    })
    const nothing = { alarms: [], forgotten: [], notices: [], forgottenNotices: [] }
    const plan = (over: Partial<AlarmPlan>): AlarmPlan => ({ at: time(3), whole: true, ...nothing, ...over })

    it('are evaluated by one process, and written with their history', async () => {
      const db = await opened()
      const isMine = (process: string) => claimWatch(db, process, 60_000)
      expect([await isMine('one'), await isMine('two'), await isMine('one')]).toEqual([true, false, true])
      expect(await evaluatedAt(db.read)).toBeNull()
      await expect(storeEvaluation(db, 'two', () => plan({ alarms: [alarm()] }))).rejects.toThrow(LeaseLostError)
      expect(await listAlarms(db.read)).toEqual([])
      const other = alarm({ name: 'dead', account: '', destination: 'ams', severity: 'critical', since: time(1) })
      await storeEvaluation(db, 'one', () => plan({ whole: false, alarms: [alarm(), other], notices: [notice(1)] }))
      expect(await evaluatedAt(db.read)).toBeNull()
      expect((await listAlarms(db.read)).map(({ name, state }) => [name, state])).toEqual([
        ['dead', 'firing'],
        ['silent', 'firing'],
      ])
      const given: unknown[] = []
      await storeEvaluation(db, 'one', (alarms, notices) => {
        given.push(alarms.length, ...notices.map(({ notice_id }) => notice_id))
        const ended = alarm({ state: 'resolved', resolved_at: time(5), last_at: time(4) })
        return plan({ alarms: [ended, { ...other, text: 'It is dead still.' }], forgottenNotices: [notice(1)] })
      })
      expect(given).toEqual([2, 'n1'])
      expect([await evaluatedAt(db.read), await listNotices(db.read)]).toEqual([time(3), []])
      const episodes = await listEpisodes(db.read, {}, 10)
      expect(episodes.map((one) => [one.name, one.fired_at, one.resolved_at, one.text])).toEqual([
        ['dead', time(1), null, 'It is dead still.'],
        ['silent', time(1), time(5), 'Nothing comes.'],
      ])
      await storeEvaluation(db, 'one', () => plan({ forgotten: [other], alarms: [alarm({ last_at: time(9) })] }))
      expect((await listAlarms(db.read)).map(({ name }) => name)).toEqual(['silent'])
      const names = async (filter: Parameters<typeof listEpisodes>[1], limit = 10) =>
        (await listEpisodes(db.read, filter, limit)).map(({ name, resolved_at }) => `${name} ${resolved_at === null ? 'open' : 'over'}`)
      expect(await names({})).toEqual(['silent open', 'dead over', 'silent over'])
      expect([await names({ severity: 'critical' }), await names({ account: 'acme' }, 1)]).toEqual([['dead over'], ['silent open']])
      expect(await names({ destination: 'ams' })).toEqual(['dead over'])
      expect(await names({ name: 'silent', until: time(9) })).toEqual(['silent over'])
      expect([await names({ since: time(9) }), await names({ after: episodes[0]?.episode_id })]).toEqual([['silent open'], ['silent over']])
    })

    it('that are acknowledged stay active, and are new when they fire again', async () => {
      const db = await opened()
      await reportAlarm(db, alarm(), [notice(1, { sent: true })])
      await reportAlarm(db, alarm({ account: 'zenith' }), [])
      expect(await listNotices(db.read)).toMatchObject([{ notice_id: 'n1', outcome: 'sent', attempts: 1 }])
      const choice = { name: 'silent', account: 'acme', destination: undefined }
      expect([await acknowledgeAlarms(db, choice, 'alice'), await acknowledgeAlarms(db, choice, 'bob')]).toEqual([1, 0])
      await reportAlarm(db, alarm({ text: 'Nothing comes still.' }), [])
      const who = async () =>
        (await listAlarms(db.read)).map(({ account, acknowledged_by, notified_at }) => [account, acknowledged_by, notified_at])
      expect(await who()).toEqual([
        ['acme', 'alice', time(2)],
        ['zenith', null, null],
      ])
      expect((await listEpisodes(db.read, { account: 'acme' }, 1))[0]?.acknowledged_by).toBe('alice')
      await reportAlarm(db, alarm({ state: 'resolved', resolved_at: time(5) }), [])
      await reportAlarm(db, alarm({ last_at: time(7) }), [])
      expect((await who())[0]?.[1]).toBeNull()
    })

    it('are reported by the process that claims the message, until it is sent or abandoned', async () => {
      const db = await opened()
      const names = ['a', 'b', 'c', 'd']
      for (const name of names) await reportAlarm(db, alarm({ name }), [])
      await claimWatch(db, 'one', 60_000)
      const notices = names.map((name, n) => notice(n, { name, operator: n === 3 ? 'other' : 'ops' }))
      await storeEvaluation(db, 'one', () => plan({ notices }))
      expect(Object.fromEntries(await countUnsent(db.read))).toEqual({ ops: 3, other: 1 })
      expect(await claimNotices(db, [], 10, 60_000)).toEqual([])
      const claimed = (await claimNotices(db, ['ops'], 10, 60_000)).sort((a, b) => (a.name < b.name ? -1 : 1))
      expect(claimed.map(({ noticeId, attempts, body }) => [noticeId, attempts, body])).toEqual([0, 1, 2].map((n) => [`n${n}`, 0, '{}']))
      expect(await claimNotices(db, ['ops'], 10, 60_000)).toEqual([])
      const [sent, failed, untried] = claimed
      if (!sent || !failed || !untried) throw new Error('three were claimed')
      await settleNotice(db, sent, { type: 'sent' })
      await settleNotice(db, failed, { type: 'failed', attempts: 5, error: 'refused', waitMs: null })
      await settleNotice(db, untried, { type: 'untried' })
      const [again] = await claimNotices(db, ['ops'], 10, 60_000)
      expect(again?.noticeId).toBe('n2')
      if (again) await settleNotice(db, again, { type: 'failed', attempts: 1, error: 'away', waitMs: 3_600_000 })
      // A process that lost the lease settles nothing.
      await settleNotice(db, untried, { type: 'failed', attempts: 9, error: 'late', waitMs: null })
      expect(await claimNotices(db, ['ops'], 10, 60_000)).toEqual([])
      const state = (await listNotices(db.read)).sort((a, b) => (a.name < b.name ? -1 : 1))
      expect(state.map(({ attempts, error, outcome }) => [attempts, error, outcome])).toEqual([
        [1, null, 'sent'],
        [5, 'refused', 'skipped'],
        [1, 'away', null],
        [0, null, null],
      ])
      expect((await listAlarms(db.read)).map(({ notified_at }) => notified_at !== null)).toEqual([true, false, false, false])
    })
  })

  describe('alarm queries', () => {
    const INSERT_AT = timeFromMs(Date.now() - 60_000)
    const between = (after: TimeText, upTo: TimeText, happenedAfter = time(-1)) => ({ after, upTo, happenedAfter })

    it('count missing webhooks, conflicts and rejections by account', async () => {
      const db = await opened()
      await ensureAccounts(db, ['acme', 'zenith'])
      await applyAll(db, [
        observedEvent('acme', ONE, wireEvent(1), byPoll),
        observedEvent('acme', ONE, wireEvent(2), byWebhook),
        observedMessage('acme', ONE, wireMessage(3), byPoll),
        observedEvent('zenith', ONE, wireEvent(4), byPoll),
      ])
      await db.write('test', (tx) => tx.sql.updateTable('sync_arrivals').set({ first_at: INSERT_AT }).execute())
      const [before, after] = [timeFromMs(Date.now() - 120_000), timeFromMs(Date.now())]
      expect(await asked.unannouncedRecords(db.read, 'acme', between(before, after))).toEqual({ count: 2, oldestAt: INSERT_AT })
      expect(await asked.unannouncedRecords(db.read, 'acme', between(before, after, time(2)))).toEqual({ count: 1, oldestAt: INSERT_AT })
      expect(await asked.unannouncedRecords(db.read, 'acme', between(INSERT_AT, after))).toEqual({ count: 0, oldestAt: null })

      const hour = (n: number, entity: string, over: object) => {
        return { account: 'acme', hour: time(n * 60), entity, webhook: 0, poll: 0, backfill: 0, reconcile: 0, lost: 0, ...over }
      }
      const [events, messages] = ['market_events', 'thread_messages'] as const
      await insertRows(db, 'arrival_counts', [
        hour(1, events, { poll: 9, lost: 9 }),
        hour(2, events, { webhook: 3, poll: 2, lost: 1 }),
        hour(3, messages, { webhook: 1, reconcile: 1, backfill: 7, lost: 1 }),
        { ...hour(3, events, { lost: 50 }), account: 'zenith' },
      ])
      expect([await asked.firstWebhookHour(db.read, 'acme'), await asked.firstWebhookHour(db.read, 'zenith')]).toEqual([time(120), null])
      expect(await asked.webhookLoss(db.read, 'acme', time(60))).toEqual({ expected: 7, lost: 2, since: time(120) })
      await runSql(db, sql`update sync_accounts set events_unreadable_at = ${time(0)}`)
      expect(await asked.webhookLoss(db.read, 'acme', time(60))).toEqual({ expected: 2, lost: 1, since: time(180) })
      expect(await asked.webhookLoss(db.read, 'nobody', time(0))).toEqual({ expected: 0, lost: 0, since: null })

      await applyAll(db, [observedEvent('acme', ONE, wireEvent(1, { detail: 'one' }), byPoll)])
      await applyAll(db, [observedEvent('acme', ONE, wireEvent(1, { detail: 'another' }), byPoll)])
      expect([await asked.countConflicts(db.read, 'acme', before), await asked.countConflicts(db.read, 'zenith', before)]).toEqual([
        { conflicts: 1, unreadable: 0 },
        { conflicts: 0, unreadable: 0 },
      ])
      expect(await asked.countConflicts(db.read, 'acme', timeFromMs(Date.now() + 60_000))).toEqual({ conflicts: 0, unreadable: 0 })
    })

    it('find the newest read, the stalest one of a reachable submission, and failing ones', async () => {
      const db = await opened()
      await applyAll(db, [
        observedEvent('acme', ONE, wireEvent(1)),
        observedEvent('acme', TWO, wireEvent(2)),
        observedEvent('zenith', ONE, wireEvent(3)),
      ])
      expect([await asked.newestRead(db.read, 'acme'), await asked.stalestRead(db.read, 'acme')]).toEqual([null, null])
      const set = (account: string, submissionId: string, values: object) =>
        db.write('test', (tx) =>
          tx.sql.updateTable('sync_reads').set(values).where('account', '=', account).where('submission_id', '=', submissionId).execute(),
        )
      await set('acme', ONE, { last_read_at: time(10) })
      await set('acme', TWO, { last_read_at: time(5) })
      await set('zenith', ONE, { last_read_at: time(1), rank: 2 })
      expect([await asked.newestRead(db.read, 'acme'), await asked.stalestRead(db.read, 'acme')]).toEqual([time(10), time(5)])
      await runSql(db, sql`update submissions set unreachable_since = ${time(6)} where submission_id = ${TWO}`)
      expect(await asked.stalestRead(db.read, 'acme')).toEqual(time(10))
      expect(await asked.failingReads(db.read, 'acme')).toEqual({ once: 0, often: 0, long: 0 })
      const fail = (submissionId: string, read: string, values: object) =>
        db.write('test', (tx) =>
          tx.sql
            .updateTable('sync_reads')
            .set({ rank: rank.failing, ...values })
            .where('submission_id', '=', submissionId)
            .where('read', '=', read as never)
            .execute(),
        )
      await fail(ONE, 'events', { failures: 4 })
      await fail(ONE, 'thread', { stalled_feed_reads: 5 })
      await fail(ONE, 'requirements', { failures: 12 })
      await fail(TWO, 'events', { failures: 9, not_found: 1 })
      expect(await asked.failingReads(db.read, 'acme')).toEqual({ once: 3, often: 2, long: 1 })
    })

    it('find the start of the reconcile schedule, and complete runs', async () => {
      const db = await opened()
      await ensureReconcileRows(db, ['acme'])
      const [row] = await db.read.sql.selectFrom('sync_reconcile').select('since').execute()
      expect([await asked.scheduledSince(db.read, 'acme'), await asked.scheduledSince(db.read, 'zenith')]).toEqual([row?.since, null])
      const started = (run_id: string) =>
        runSql(db, sql`update reconcile_runs set started_at = ${time(1)}, updated_at = ${time(9)} where run_id = ${run_id}`)
      const since = () => asked.reconciledSince(db.read, 'acme', time(9))
      await started(await requestRun(db, { account: 'acme', options: { dry_run: true }, requestedBy: 'command' }))
      await started(await requestRun(db, { account: 'zenith', options: {}, requestedBy: 'command' }))
      const whole = await requestRun(db, { account: 'acme', options: { concurrency: 2 }, requestedBy: 'command' })
      expect(await since()).toBe(false)
      await started(whole)
      expect([await since(), await asked.reconciledSince(db.read, 'acme', time(10))]).toEqual([true, false])
    })

    it('find the oldest change of a destination that is sendable, held, or not yet queued', async () => {
      const db = await opened()
      await applyAll(db, [observedEvent('acme', ONE, wireEvent(1))])
      const row = (n: number, stream: string, over: object = {}) => storedRow(n, stream, { queued_at: time(n), ...over })
      const rows = [row(1, ONE, { state: 'dead' }), row(2, ONE), row(3, TWO), row(0, TWO, { destination: 'crm' })]
      await insertRows(db, 'sync_outbox', rows)
      const stream = { destination: 'ams', account: 'acme', stream: ONE, due_at: time(0), blocked: 'held' }
      await insertRows(db, 'sync_push_streams', stream as never)
      expect([await oldestReady(db.read, 'ams', null), await oldestReady(db.read, 'ams', 'held')]).toEqual([time(3), time(2)])
      expect([await oldestReady(db.read, 'ams', 'unmapped'), await oldestReady(db.read, 'other', null)]).toEqual([null, null])
      const [first, last] = await db.read.sql.selectFrom('changes').select(['seq', 'changed_at']).orderBy('seq').execute()
      expect(await oldestBehind(db.read, 0)).toBe(first?.changed_at)
      expect([await oldestBehind(db.read, first?.seq ?? 0), await oldestBehind(db.read, 1_000)]).toEqual([last?.changed_at ?? null, null])
    })
  })

  it('a session ends at its limits, or on request', async () => {
    const db = await opened()
    const limits = { idleMs: 600_000, maxMs: 3_600_000 }
    const session = (session_hash: string) => ({ session_hash, who: 'alice', token_proof: 'p', token_tag: 'ab12', oidc: null })
    const find = (hash: string) => findSession(db.read, hash, limits)
    await beginSession(db, session('a'), limits)
    expect(await find('a')).toMatchObject({ who: 'alice', token_proof: 'p', token_tag: 'ab12', isStale: false })
    expect(await find('b')).toBeNull()
    await letSessionsAge(db, 61_000)
    expect(await find('a')).toMatchObject({ isStale: true })
    await noteSessionSeen(db, 'a')
    expect(await find('a')).toMatchObject({ isStale: false })
    const { ends_at = '', idle_ends_at = '' } = (await find('a')) ?? {}
    expect(Date.parse(ends_at)).toBeGreaterThan(Date.parse(idle_ends_at))
    await letSessionsAge(db, 601_000, ['seen_at'])
    expect(await find('a')).toBeNull()
    await noteSessionSeen(db, 'a')
    await letSessionsAge(db, 3_600_000, ['began_at'])
    expect(await find('a')).toBeNull()
    await beginSession(db, session('b'), limits)
    expect(await db.read.sql.selectFrom('sync_console_sessions').select('session_hash').execute()).toEqual([{ session_hash: 'b' }])
    await letSessionsAge(db, -601_000, ['seen_at'])
    expect(await find('b'), 'begun by a clock that ran ahead').toBeNull()
    await endSession(db, 'b')
    expect(await db.read.sql.selectFrom('sync_console_sessions').selectAll().execute()).toEqual([])
  })
})
