import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { mainReads } from '../../../src/model/reads.ts'
import { type TimeText, timeFromMs } from '../../../src/model/time.ts'
import { readVerdict } from '../../../src/ops/status/status.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { reportAlarm } from '../../../src/store/operators/alarms.ts'
import { ensureDestinations, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { ensureAccounts, stopAccount } from '../../../src/store/reads/accounts.ts'
import { insertFindings } from '../../../src/store/reconcile/findings.ts'
import type { ReadsTable } from '../../../src/store/schema/reads.ts'
import type { ReconcileFindingsTable, ReconcileRunsTable } from '../../../src/store/schema/reconcile.ts'
import { recordHeartbeat } from '../../../src/store/upkeep/processes.ts'
import { setUpkeepWait } from '../../../src/store/upkeep/upkeep.ts'
import { json, runHere } from '../../app/run.ts'
import { account as environment } from '../../config/support.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { run } from '../../reconcile/report/sample.ts'
import { type OpenedDatabase, testDatabases } from '../../tools/databases.ts'
import { putOutbox } from '../../tools/destinations.ts'
import { trackFact, uuid } from '../../tools/facts.ts'
import { applyAll } from '../../tools/mirror.ts'

const ACCOUNT = 'default'
const one = uuid(9, 1)
const two = uuid(9, 2)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe.each(testDatabases)('the verdict on $name', (database) => {
  let opened: OpenedDatabase
  let db: Db

  beforeEach(async () => {
    opened = await database.open()
    db = opened.db
  })
  afterEach(() => opened.close())

  const verdict = () => readVerdict(db, loadConfig(environment))
  const at = (agoMs: number) => timeFromMs(Date.now() - agoMs)
  const kinds = async () => (await verdict()).needs.map(({ kind }) => kind)

  /** Two submissions that were read a minute ago, and are due in an hour. */
  async function fresh(): Promise<void> {
    await ensureAccounts(db, [ACCOUNT])
    await applyAll(db, [trackFact(ACCOUNT, one), trackFact(ACCOUNT, two)])
    await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ brokerage: 'b1' }).execute())
    await reads({ rank: 1, due_at: at(-HOUR), last_read_at: at(MINUTE) })
  }

  /** Changes the reads of all submissions, or the main ones of one. */
  async function reads(values: Partial<ReadsTable>, submissionId?: string): Promise<void> {
    await db.write('test', (tx) => {
      const all = tx.sql.updateTable('sync_reads').set(values)
      return (submissionId === undefined ? all : all.where('submission_id', '=', submissionId).where('read', 'in', mainReads)).execute()
    })
  }

  async function deliver(state: 'ready' | 'dead', agoMs: number): Promise<void> {
    const row = { account: ACCOUNT, delivery_id: `msg_${state}`, received_at: at(agoMs), headers: '{}', body: null, secret: 0, state }
    const rest = {
      attempts: 1,
      available_at: at(agoMs),
      lease_token: null,
      submission_id: null,
      kind: null,
      error: 'broken',
      settled_at: null,
    }
    await db.write('test', (tx) =>
      tx.sql
        .insertInto('sync_inbox')
        .values({ ...row, ...rest })
        .execute(),
    )
  }

  async function reconciled(name: string, requestedAgoMs: number, over: Partial<ReconcileRunsTable>): Promise<void> {
    const row = run({ run_id: name, account: ACCOUNT, requested_at: at(requestedAgoMs), ...over })
    await db.write('test', (tx) =>
      tx.sql
        .insertInto('reconcile_runs')
        .values({ ...row, options: JSON.stringify(row.options) as never })
        .execute(),
    )
  }

  it('tells of a mirror that was never served, and of one that knows no submission yet', async () => {
    expect(await verdict()).toMatchObject({ verdict: 'catching_up', needs: [] })
    expect((await verdict()).sentence).toBe('Catching up: account default was never read from the service; no process is running.')
    await ensureAccounts(db, [ACCOUNT])
    expect((await verdict()).verdict).toBe('catching_up')
    await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ brokerage: 'b1' }).execute())
    expect(await verdict()).toMatchObject({
      verdict: 'complete',
      sentence: expect.stringMatching(/^Complete and fresh: no submission is known/),
    })
  })

  it('is complete when everything was read, and says how far that is known', async () => {
    await fresh()
    expect(await verdict()).toEqual({
      verdict: 'complete',
      sentence: expect.stringMatching(
        /^Complete and fresh: 2 submissions, each read to the end, and nothing waits; no process is running, and the last read was \d+ s ago\.$/,
      ),
      needs: [],
    })
  })

  it('catches up while a submission was never read to the end, unless the service does not show it', async () => {
    await fresh()
    await reads({ last_read_at: null }, two)
    expect(await verdict()).toMatchObject({ verdict: 'catching_up', sentence: expect.stringContaining('1 submission of account default') })
    await db.write('test', (tx) =>
      tx.sql
        .updateTable('submissions')
        .set({ unreachable_since: at(HOUR) })
        .where('submission_id', '=', two)
        .execute(),
    )
    expect(await verdict()).toMatchObject({ verdict: 'complete', sentence: expect.stringContaining('does not show 1 of them') })
  })

  it('catches up while a wake, a due read, a failing or a stale read, or a delivery is late', async () => {
    await fresh()
    const sentence = async () => (await verdict()).sentence
    await reads({ rank: 0, due_at: at(2 * MINUTE) }, one)
    expect(await sentence()).toMatch(/^Catching up: news of account default waits to be read for 120 s|2 min/)
    await reads({ rank: 1, due_at: at(10 * MINUTE) }, one)
    expect(await sentence()).toMatch(/^Catching up: reads of account default are overdue by 10 min/)
    await reads({ rank: 2, due_at: at(-HOUR), failures: 6 }, one)
    expect(await sentence()).toMatch(/^Catching up: 3 reads of account default fail again and again/)
    await reads({ rank: 1, failures: 0, last_read_at: at(40 * 24 * HOUR) }, one)
    expect(await sentence()).toMatch(/^Catching up: a submission of account default was not read for 40 d/)
    await reads({ last_read_at: at(MINUTE) }, one)
    await deliver('ready', 5 * MINUTE)
    expect(await sentence()).toMatch(/^Catching up: 1 delivery waits, the oldest for 5 min/)
  })

  it('needs attention for an account that is stopped, a dead delivery, and an alarm', async () => {
    await fresh()
    await stopAccount(db, ACCOUNT, 'paused', 'many submissions are not found', HOUR)
    await deliver('dead', 3 * HOUR)
    const alarm = {
      account: '',
      destination: '',
      since: at(HOUR),
      last_at: at(0),
      resolved_at: null,
      text: 'it is full',
      notified_at: null,
    }
    await reportAlarm(db, { ...alarm, severity: 'critical', name: 'disk_space', state: 'firing' }, [])
    expect(await verdict()).toEqual({
      verdict: 'attention',
      sentence: 'Needs attention: account default is paused; the disk is nearly full; and 1 more; no process is running.',
      needs: [
        {
          kind: 'account_stopped',
          what: 'account default is paused: many submissions are not found',
          since: expect.any(String),
          count: 1,
          mend: { operation: 'account.resume', input: { name: 'default' } },
        },
        {
          kind: 'alarm',
          what: 'the disk is nearly full: it is full',
          since: alarm.since,
          count: 1,
          mend: { runbook: expect.stringMatching(/#the-disk-fills$/) },
        },
        {
          kind: 'dead_deliveries',
          what: '1 delivery of account default was given up',
          since: expect.any(String),
          count: 1,
          mend: { operation: 'inbox.replay', input: { account: 'default', state: 'dead' } },
        },
      ],
    })
  })

  it('needs attention while clocks disagree, retention waits or does not end, and documents lie on a host that is not named', async () => {
    await fresh()
    const needs = async () => (await verdict()).needs.map(({ what, count }) => [what, count])
    await db.write('test', (tx) => sql`update changes set changed_at = ${timeValue(tx, at(-3 * HOUR))}`.execute(tx.sql))
    expect(await needs()).toEqual([
      [expect.stringMatching(/^the clocks disagree: .* 3 h behind the newest change; until .*retention removes/), 1],
    ])
    // A process that watches compares with the services, too: its judgement counts.
    const watched = (evaluatedAt: TimeText) =>
      db.write('test', (tx) =>
        sql`insert into sync_alarm_watch (id, lease_token, lease_until, evaluated_at) values (1, 't', ${timeValue(tx, at(0))}, ${timeValue(tx, evaluatedAt)})
          on conflict (id) do update set evaluated_at = excluded.evaluated_at`.execute(tx.sql),
      )
    await watched(at(10_000))
    expect(await needs()).toEqual([])
    const alarm = { account: '', destination: '', since: at(MINUTE), resolved_at: null, notified_at: null }
    const row = { ...alarm, name: 'clocks_disagree', text: 'they differ', severity: 'critical', state: 'pending' } as const
    await reportAlarm(db, { ...row, last_at: at(0) }, [])
    expect(await needs()).toEqual([['the clocks disagree: they differ', 1]])
    await reportAlarm(db, { ...row, state: 'resolved', last_at: at(MINUTE), resolved_at: at(0) }, [])
    await setUpkeepWait(db, 'retention', 'it would remove much')
    expect(await needs()).toEqual([[expect.stringMatching(/^retention waits to be confirmed: retention waits: it would remove much/), 1]])
    await setUpkeepWait(db, 'retention', null)
    expect(await needs()).toEqual([])
    await db.write('test', (tx) =>
      sql`update sync_upkeep set began_at = ${timeValue(tx, at(50 * HOUR))}, ended_at = ${timeValue(tx, at(50 * HOUR))}`.execute(tx.sql),
    )
    expect(await needs()).toEqual([])
    await recordHeartbeat(db, { id: 'p', role: 'all', version: '1' })
    expect(await needs()).toEqual([[expect.stringMatching(/^retention does not come .*: retention has not ended for 2 d/), 1]])
  })

  it('needs attention for what a destination holds, and for one that is stopped', async () => {
    await fresh()
    await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
    // Settings without an account: whoever only looks into the database.
    const looked = async () =>
      json<Awaited<ReturnType<typeof readVerdict>>>(await runHere(['status', '--json'], databaseEnv(opened.config)))
    expect((await looked()).verdict).toBe('complete')
    const lane = { destination: 'ams', account: ACCOUNT, due_at: at(HOUR), lease_token: null, held_by: null }
    await db.write('test', (tx) =>
      tx.sql
        .insertInto('sync_push_lanes')
        .values({ ...lane, lane: one, blocked: 'held' })
        .execute(),
    )
    expect(await looked()).toMatchObject({ verdict: 'attention', needs: [{ kind: 'held_submissions', count: 1 }] })
    await db.write('test', (tx) => tx.sql.updateTable('sync_push_lanes').set({ blocked: 'unmapped' }).execute())
    expect((await looked()).needs).toMatchObject([{ kind: 'unmapped_submissions', count: 1 }])
    await putOutbox(db, 'ams', { dead: 2, unknown: 1 })
    await setDestinationState(db, 'ams', 'suspended', 'answered 401')
    expect((await looked()).needs.map(({ kind, count }) => [kind, count])).toEqual([
      ['destination_stopped', 1],
      ['dead_changes', 2],
      ['unknown_changes', 1],
      ['unmapped_submissions', 1],
    ])
  })

  it('needs attention for a reconcile run that was not clean, until one is that looked at the same', async () => {
    await fresh()
    await reconciled('clean', 5 * HOUR, {})
    expect(await kinds()).toEqual([])
    await reconciled('narrowed', 4 * HOUR, { exit_code: 3, different: 2, options: { submissions: [one], dry_run: true } })
    expect((await verdict()).needs).toMatchObject([
      { kind: 'run_not_clean', count: 2, mend: { operation: 'reconcile.request', input: { account: 'default' } } },
    ])
    await reconciled('mended', 3 * HOUR, { options: { submissions: [one] } })
    expect(await kinds()).toEqual([])
    await reconciled('nightly', 2 * HOUR, { exit_code: 1, unreadable: 1 })
    expect((await verdict()).needs).toMatchObject([
      { kind: 'run_not_clean', mend: { operation: 'reconcile.show', input: { id: 'nightly' } } },
    ])
  })

  it('needs attention for what a run left until each submission of it is proven, and never for changes that were not delivered', async () => {
    await fresh()
    await reconciled('dry', 4 * HOUR, { exit_code: 3, missing: 1, different: 1, undelivered: 40, options: { dry_run: true } })
    const found = (no: number, submissionId: string): ReconcileFindingsTable => ({
      run_id: 'dry',
      finding_no: no,
      account: ACCOUNT,
      submission_id: submissionId,
      kind: no === 1 ? 'missing' : 'different',
      entity: 'market_events',
      entity_id: '["e"]',
      fields: null,
      read: null,
      destination: null,
      seq: null,
      standing: false,
      repaired_at: null,
      detail: 'it differs',
      found_at: at(4 * HOUR),
    })
    await db.write('test', (tx) => insertFindings(tx, [found(1, one), found(2, two)]))
    const prove = (submissionId: string, agoMs: number) =>
      db.write('test', (tx) =>
        tx.sql
          .insertInto('sync_proofs')
          .values({ account: ACCOUNT, submission_id: submissionId, run_id: 'later', visited_at: at(agoMs), proved_at: at(agoMs) })
          .execute(),
      )
    const lefts = async () => (await verdict()).needs.map(({ kind, count }) => [kind, count])
    expect(await lefts()).toEqual([['run_not_clean', 2]])
    await prove(one, HOUR)
    expect(await lefts()).toEqual([['run_not_clean', 1]])
    await prove(two, 5 * HOUR)
    expect(await lefts()).toEqual([['run_not_clean', 1]])
    await db.write('test', (tx) =>
      tx.sql
        .updateTable('sync_proofs')
        .set({ proved_at: at(HOUR) })
        .execute(),
    )
    expect(await verdict()).toMatchObject({ verdict: 'complete', needs: [] })
  })

  it('stands first in what `status` prints, then what needs a person, then tables with titles, in 80 columns', async () => {
    await fresh()
    await deliver('dead', 3 * HOUR)
    const { out } = await runHere(['status'], { ...databaseEnv(opened.config), COLUMNS: '80' })
    const parts = out.split('\n\n')
    expect(parts.slice(0, 2).map((part) => part.replaceAll(/\s+/g, ' '))).toEqual([
      'Needs attention: 1 delivery of account default was given up; no process is running.',
      '• 1 delivery of account default was given up (for 3 h) submission-mirror inbox replay --account default --state dead',
    ])
    expect(parts.map((part) => part.split('\n')[0])).toEqual([
      'Needs attention: 1 delivery of account default was given up; no process is',
      '• 1 delivery of account default was given up (for 3 h)',
      'Accounts',
      'Requests to the service, a second',
      'Freshness: when submissions were last read',
      'Deliveries',
      'Submissions verified by reconciling',
      'How events and messages were found first',
      expect.stringMatching(/^The change log/),
      expect.stringMatching(/^Complete means/),
    ])
    expect(parts[5]).toBe('Deliveries\naccount  ready  done  set aside  dead\ndefault      0     0          0     1')
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })
})
