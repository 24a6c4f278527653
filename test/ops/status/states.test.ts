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
import type { ReconcileRunsTable } from '../../../src/store/schema/reconcile.ts'
import { recordHeartbeat } from '../../../src/store/upkeep/processes.ts'
import { setUpkeepWait } from '../../../src/store/upkeep/upkeep.ts'
import { json, runHere } from '../../app/run.ts'
import { account as environment } from '../../config/support.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { findingRow, run } from '../../reconcile/report/sample.ts'
import { insertRows, type OpenedDatabase, runSql, testDatabases } from '../../tools/databases.ts'
import { putOutbox } from '../../tools/destinations.ts'
import { applyAll } from '../../tools/mirror.ts'
import { trackFact, uuid } from '../../tools/observations.ts'

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
  const kinds = async () => (await verdict()).issues.map(({ kind }) => kind)

  async function fresh(): Promise<void> {
    await ensureAccounts(db, [ACCOUNT])
    await applyAll(db, [trackFact(ACCOUNT, one), trackFact(ACCOUNT, two)])
    await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ brokerage: 'b1' }).execute())
    await reads({ rank: 1, due_at: at(-HOUR), last_read_at: at(MINUTE) })
  }

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
    await insertRows(db, 'sync_inbox', { ...row, ...rest })
  }

  async function reconciled(name: string, requestedAgoMs: number, over: Partial<ReconcileRunsTable>): Promise<void> {
    const row = run({ run_id: name, account: ACCOUNT, requested_at: at(requestedAgoMs), ...over })
    await insertRows(db, 'reconcile_runs', { ...row, options: JSON.stringify(row.options) as never })
  }

  it('describes a mirror that was never served, and one without submissions', async () => {
    expect(await verdict()).toMatchObject({ verdict: 'catching_up', issues: [] })
    expect((await verdict()).sentence).toBe('Catching up: account default has never been read from the service; no process is running.')
    await ensureAccounts(db, [ACCOUNT])
    expect((await verdict()).verdict).toBe('catching_up')
    await db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ brokerage: 'b1' }).execute())
    const sentence = expect.stringMatching(/^Complete and fresh: no submission is known/)
    expect(await verdict()).toMatchObject({ verdict: 'complete', sentence })
  })

  it('is complete when everything was read, and says how far that is known', async () => {
    await fresh()
    const whole = 'Complete and fresh: 2 submissions, all fully read; no work is waiting'
    const sentence = expect.stringMatching(`^${whole}; no process is running, and the last read was \\d+ s ago\\.$`)
    expect(await verdict()).toEqual({ verdict: 'complete', sentence, issues: [] })
  })

  it('catches up while a submission was never read to the end, unless the service does not show it', async () => {
    await fresh()
    await reads({ last_read_at: null }, two)
    expect(await verdict()).toMatchObject({ verdict: 'catching_up', sentence: expect.stringContaining('1 submission of account default') })
    await runSql(db, sql`update submissions set unreachable_since = ${at(HOUR)} where submission_id = ${two}`)
    expect(await verdict()).toMatchObject({ verdict: 'complete', sentence: expect.stringContaining('no longer shows 1 of them') })
  })

  it('catches up while a read request, a due read, a failing or a stale read, or a delivery is late', async () => {
    await fresh()
    const sentence = async () => (await verdict()).sentence
    await reads({ rank: 0, due_at: at(2 * MINUTE) }, one)
    expect(await sentence()).toMatch(/^Catching up: account default has had unread activity for 120 s|2 min/)
    await reads({ rank: 1, due_at: at(10 * MINUTE) }, one)
    expect(await sentence()).toMatch(/^Catching up: reads of account default are overdue by 10 min/)
    await reads({ rank: 2, due_at: at(-HOUR), failures: 6 }, one)
    expect(await sentence()).toMatch(/^Catching up: 3 reads of account default fail repeatedly/)
    await reads({ rank: 1, failures: 0, last_read_at: at(40 * 24 * HOUR) }, one)
    expect(await sentence()).toMatch(/^Catching up: a submission of account default has not been read for 40 d/)
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
      issues: [
        {
          kind: 'account_stopped',
          what: 'account default is paused: many submissions are not found',
          since: expect.any(String),
          count: 1,
          fix: { operation: 'account.resume', input: { name: 'default' } },
        },
        {
          kind: 'disk_space',
          what: 'it is full',
          since: alarm.since,
          count: 1,
          fix: { runbook: expect.stringMatching(/#the-disk-fills$/) },
        },
        {
          kind: 'inbox_dead',
          what: '1 delivery of account default is dead-lettered',
          since: expect.any(String),
          count: 1,
          fix: { operation: 'inbox.replay', input: { account: 'default', state: 'dead' } },
        },
      ],
    })
  })

  it('needs attention while clocks disagree, retention waits or does not end, and documents are on an unlisted host', async () => {
    await fresh()
    const issues = async () => (await verdict()).issues.map(({ what, count }) => [what, count])
    await db.write('test', (tx) => tx.run(sql`update changes set changed_at = ${timeValue(tx, at(-3 * HOUR))}`))
    expect(await issues()).toEqual([
      [expect.stringMatching(/^the clocks disagree: .* 3 h behind the newest change; until .*retention waits/), 1],
    ])
    const watched = (evaluatedAt: TimeText) =>
      db.write('test', (tx) =>
        tx.run(sql`insert into sync_alarm_watch (id, lease_token, lease_until, evaluated_at) values (1, 't', ${timeValue(tx, at(0))}, ${timeValue(tx, evaluatedAt)})
          on conflict (id) do update set evaluated_at = excluded.evaluated_at`),
      )
    await watched(at(10_000))
    expect(await issues()).toEqual([])
    const alarm = { account: '', destination: '', since: at(MINUTE), resolved_at: null, notified_at: null }
    const row = { ...alarm, name: 'clocks_disagree', text: 'they differ', severity: 'critical', state: 'pending' } as const
    await reportAlarm(db, { ...row, last_at: at(0) }, [])
    expect(await issues()).toEqual([['they differ', 1]])
    await reportAlarm(db, { ...row, state: 'resolved', last_at: at(MINUTE), resolved_at: at(0) }, [])
    await setUpkeepWait(db, 'retention', 'it would remove much')
    expect(await issues()).toEqual([[expect.stringMatching(/^retention removes nothing, because it would remove much/), 1]])
    await setUpkeepWait(db, 'retention', null)
    expect(await issues()).toEqual([])
    await db.write('test', (tx) =>
      tx.run(sql`update sync_upkeep set began_at = ${timeValue(tx, at(50 * HOUR))}, ended_at = ${timeValue(tx, at(50 * HOUR))}`),
    )
    expect(await issues()).toEqual([])
    await recordHeartbeat(db, { id: 'p', role: 'all', version: '1' })
    expect(await issues()).toEqual([[expect.stringMatching(/^retention has not finished for 2 d/), 1]])
  })

  it('needs attention for blocked changes of a destination, and for a stopped one', async () => {
    await fresh()
    await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
    const looked = async () =>
      json<Awaited<ReturnType<typeof readVerdict>>>(await runHere(['status', '--json'], databaseEnv(opened.config)))
    expect((await looked()).verdict).toBe('complete')
    const stream = { destination: 'ams', account: ACCOUNT, due_at: at(HOUR), lease_token: null, held_by: null }
    await insertRows(db, 'sync_push_streams', { ...stream, stream: one, blocked: 'held' })
    expect(await looked()).toMatchObject({ verdict: 'attention', issues: [{ kind: 'held_submissions', count: 1 }] })
    await db.write('test', (tx) => tx.sql.updateTable('sync_push_streams').set({ blocked: 'unmapped' }).execute())
    expect((await looked()).issues).toMatchObject([{ kind: 'push_unmapped', count: 1 }])
    await putOutbox(db, 'ams', { dead: 2, unknown: 1 })
    await setDestinationState(db, 'ams', 'suspended', 'answered 401')
    expect((await looked()).issues.map(({ kind, count }) => [kind, count])).toEqual([
      ['destination_stopped', 1],
      ['push_dead', 2],
      ['push_unknown', 1],
      ['push_unmapped', 1],
    ])
  })

  it('needs attention for a reconcile run that was not clean, until one is that looked at the same', async () => {
    await fresh()
    await reconciled('clean', 5 * HOUR, {})
    expect(await kinds()).toEqual([])
    await reconciled('narrowed', 4 * HOUR, { exit_code: 3, different: 2, options: { submissions: [one], dry_run: true } })
    expect((await verdict()).issues).toMatchObject([
      { kind: 'reconcile_findings', count: 2, fix: { operation: 'reconcile.request', input: { account: 'default' } } },
    ])
    await reconciled('fixed', 3 * HOUR, { options: { submissions: [one] } })
    expect(await kinds()).toEqual([])
    await reconciled('nightly', 2 * HOUR, { exit_code: 1, unreadable: 1 })
    expect((await verdict()).issues).toMatchObject([
      { kind: 'reconcile_failed', fix: { operation: 'reconcile.show', input: { id: 'nightly' } } },
    ])
  })

  it('needs attention for findings of a run until each submission is reconciled, and never for undelivered changes', async () => {
    await fresh()
    await reconciled('dry', 4 * HOUR, { exit_code: 3, missing: 1, different: 1, undelivered: 40, options: { dry_run: true } })
    const found = (no: number, submission_id: string) =>
      findingRow('dry', no, { account: ACCOUNT, submission_id, kind: no === 1 ? 'missing' : 'different', found_at: at(4 * HOUR) })
    await db.write('test', (tx) => insertFindings(tx, [found(1, one), found(2, two)]))
    const prove = (submissionId: string, agoMs: number) => {
      const proof = { account: ACCOUNT, submission_id: submissionId, run_id: 'later' }
      return insertRows(db, 'sync_reconciled', { ...proof, visited_at: at(agoMs), reconciled_at: at(agoMs) })
    }
    const lefts = async () => (await verdict()).issues.map(({ kind, count }) => [kind, count])
    expect(await lefts()).toEqual([['reconcile_findings', 2]])
    await prove(one, HOUR)
    expect(await lefts()).toEqual([['reconcile_findings', 1]])
    await prove(two, 5 * HOUR)
    expect(await lefts()).toEqual([['reconcile_findings', 1]])
    await runSql(db, sql`update sync_reconciled set reconciled_at = ${at(HOUR)}`)
    expect(await verdict()).toMatchObject({ verdict: 'complete', issues: [] })
  })

  it('comes first in the output of `status`, then the issues, then tables with titles, in 80 columns', async () => {
    await fresh()
    await deliver('dead', 3 * HOUR)
    const { out } = await runHere(['status'], { ...databaseEnv(opened.config), COLUMNS: '80' })
    const parts = out.split('\n\n')
    expect(parts.slice(0, 2).map((part) => part.replaceAll(/\s+/g, ' '))).toEqual([
      'Needs attention: 1 delivery of account default is dead-lettered; no process is running.',
      '• 1 delivery of account default is dead-lettered (began 3 h ago) submission-mirror inbox replay --account default --state dead',
    ])
    expect(parts.map((part) => part.split('\n')[0])).toEqual([
      'Needs attention: 1 delivery of account default is dead-lettered; no process is',
      '• 1 delivery of account default is dead-lettered (began 3 h ago)',
      'Accounts',
      'Requests per second to the service',
      'Reads and their freshness',
      'Deliveries',
      'Reconciled submissions',
      'How events and messages were first found',
      expect.stringMatching(/^The change log/),
      expect.stringMatching(/^The mirror has only submissions that/),
    ])
    expect(parts[5]).toBe('Deliveries\naccount  ready  done  set aside  dead\ndefault      0     0          0     1')
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })
})
