import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runNamed } from '../../../src/ops/actions/reconcile.ts'
import { reportProblem, writeReportFile } from '../../../src/ops/cli/commands/reconcile-show.ts'
import { readReport } from '../../../src/reconcile/report/data.ts'
import { renderHtml } from '../../../src/reconcile/report/html.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import type { ReconcileFindingsTable } from '../../../src/store/schema/reconcile.ts'
import { type OpenedDatabase, testDatabases } from '../../tools/databases.ts'
import { applyAll, applyEach } from '../../tools/mirror.ts'
import {
  byFirstFeedRead,
  byPoll,
  byWebhook,
  observedEvent,
  observedMessage,
  observedState,
  trackFact,
  uuid,
  wireEvent,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { moment, report, run } from './sample.ts'

const ACCOUNT = 'default'
const submission = uuid(9, 1)

function row(no: number, over: Partial<ReconcileFindingsTable> = {}): ReconcileFindingsTable {
  return {
    run_id: uuid(8, 1),
    finding_no: no,
    account: ACCOUNT,
    submission_id: submission,
    kind: 'missing',
    entity: 'market_events',
    entity_id: JSON.stringify([submission, uuid(1, no)]),
    fields: null,
    read: 'events',
    destination: null,
    seq: null,
    known: false,
    repaired_at: moment(50),
    detail: `finding ${no}`,
    found_at: moment(40),
    ...over,
  }
}

async function store(db: Db, findings: readonly ReconcileFindingsTable[], over: Parameters<typeof run>[0] = {}): Promise<void> {
  const { options, ...columns } = run(over)
  await db.write('test', async (tx) => {
    await tx.sql
      .insertInto('reconcile_runs')
      .values({ ...columns, options: JSON.stringify(options) as never })
      .execute()
    for (const { fields, ...rest } of findings) {
      await tx.sql
        .insertInto('reconcile_findings')
        .values({ ...rest, fields: (fields === null ? null : JSON.stringify(fields)) as never })
        .execute()
    }
  })
}

describe.each(testDatabases)('the data of a report on $name', (database) => {
  let opened: OpenedDatabase
  let db: Db
  beforeEach(async () => {
    opened = await database.open()
    db = opened.db
  })
  afterEach(() => opened.close())

  it('groups findings by kind, new before known, lists the first and counts all', async () => {
    const many = Array.from({ length: 203 }, (_, index) => row(index + 1))
    await store(db, [
      ...many,
      row(300, { kind: 'missing', entity: 'quotes', entity_id: JSON.stringify([submission, uuid(3, 1), uuid(4, 1)]), repaired_at: null }),
      row(301, { kind: 'absent', known: true, repaired_at: null }),
      row(302, { kind: 'unreadable', entity: null, entity_id: null, read: 'thread', repaired_at: null }),
    ])
    await applyAll(db, [observedState(ACCOUNT, submission, wireRequirements(submission, [], { insured_name: 'Bluebird Diner' }), 1)])
    const data = await readReport(db.read, await runNamed(db.read, uuid(8, 1)), '1.2.3')
    expect(renderHtml(data)).toContain('Bluebird Diner')
    expect(data.mirror.tables).toContainEqual({ table: 'submissions', rows: 1 })
    expect(data.groups.map(({ kind, known, total, shown }) => [kind, known, total, shown.length])).toEqual([
      ['missing', false, 204, 200],
      ['unreadable', false, 1, 1],
      ['absent', true, 1, 1],
    ])
    expect(data.groups[0]?.byEntity).toEqual([
      { entity: 'market_events', total: 203, repaired: 203 },
      { entity: 'quotes', total: 1, repaired: 0 },
    ])
    expect(data.groups[0]?.shown[0]).toMatchObject({ submissionId: submission, record: uuid(1, 1), repairedAt: moment(50) })
    expect(data.groups[1]?.shown[0]).toMatchObject({ entity: null, record: null, read: 'thread' })
    expect(data).toMatchObject({ version: '1.2.3', mirror: { database: database.name, submissions: 1, firstSeq: 1 } })
  })

  it('shows values, but no personal ones, and no tax id at any depth', async () => {
    const fields = [
      { field: 'status', mirror: 'old', service: null },
      { field: 'total_cents', mirror: 1, service: 2 },
      { field: 'carrier_api_session_ids', mirror: [], service: { plan: 'x', Fein: '12-3456789' } },
      { field: 'next_step', mirror: 'Call Ada Byron', service: '?' },
      { field: 'unmet_labels', mirror: ['Ada', 'Byron'], service: [] },
      { field: 'raw', mirror: null, service: null },
      { field: 'program', mirror: 'p'.repeat(5_000), service: 'p' },
    ]
    await store(db, [row(1, { kind: 'different', entity: 'lanes', fields })], { different: 1, repaired: 1 })
    const data = await readReport(db.read, await runNamed(db.read, uuid(8, 1)), '1.2.3')
    expect(data.groups[0]?.shown[0]?.differences.slice(0, 6)).toEqual([
      { field: 'status', mirror: '"old"', service: 'null' },
      { field: 'total_cents', mirror: '1', service: '2' },
      { field: 'carrier_api_session_ids', mirror: '[]', service: '{"plan":"x"}' },
      { field: 'next_step', mirror: 'text of 14 characters (not shown)', service: 'text of 1 character (not shown)' },
      { field: 'unmet_labels', mirror: 'list of 2 (not shown)', service: 'list of 0 (not shown)' },
      { field: 'raw', mirror: '(not shown)', service: '(not shown)' },
    ])
    const page = renderHtml(data as NonNullable<typeof data>)
    expect(page).not.toMatch(/Ada|Byron|3456789|p{200}/)
  })

  it('counts how events and messages arrived, over time', async () => {
    await applyAll(db, [trackFact(ACCOUNT, submission)])
    await applyAll(db, [
      observedEvent(ACCOUNT, submission, wireEvent(1), byFirstFeedRead),
      observedEvent(ACCOUNT, submission, wireEvent(2), byWebhook),
      observedMessage(ACCOUNT, submission, wireMessage(1), byPoll),
      observedMessage('other', submission, wireMessage(2), byPoll),
    ])
    await store(db, [])
    const data = await readReport(db.read, await runNamed(db.read, uuid(8, 1)), '1.2.3')
    expect(data.firstSeen).toMatchObject({
      unit: 'second',
      totals: [
        { via: 'webhook', events: 1, messages: 0 },
        { via: 'poll', events: 0, messages: 1 },
        { via: 'backfill', events: 1, messages: 0 },
      ],
    })
    const counted = data.firstSeen.buckets.map(({ counts }) => Object.values(counts).reduce((sum, n) => sum + n, 0))
    expect(counted?.reduce((sum, n) => sum + n, 0)).toBe(3)
    expect(data.mirror).toMatchObject({ submissions: 1, trackedVia: [{ via: 'command', submissions: 1 }] })
  })

  it('ignores records with a manually removed time', async () => {
    await applyAll(db, [trackFact(ACCOUNT, submission)])
    await applyEach(db, [1, 2, 3], (n) => observedEvent(ACCOUNT, submission, wireEvent(n), byPoll))
    const afternoon = '2026-11-20T15:04:05.000000Z'
    const wrong = db.kind === 'sqlite' ? ["'2026-99-99T00:00:00.000000Z'", "'2026-11-20T25:00:00.000000Z'"] : ["'infinity'", "'-infinity'"]
    await db.write('test', async (tx) => {
      for (const [index, time] of wrong.entries()) {
        const id = uuid(1, index + 1)
        await tx.run(sql`update market_events set first_seen_at = ${sql.raw(time)} where event_id = ${id}`)
      }
      await tx.run(sql`update market_events set first_seen_at = ${afternoon} where event_id = ${uuid(1, 3)}`)
    })
    await store(db, [])
    const data = await readReport(db.read, await runNamed(db.read, uuid(8, 1)), '1.2.3')
    expect(data.firstSeen).toMatchObject({ unit: 'second', totals: [{ via: 'poll', events: 1, messages: 0 }] })
    expect(data.firstSeen.buckets).toEqual([{ at: afternoon, counts: { poll: 1 } }])
  })
})

describe('the file of a report', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'submission-mirror-report-'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  it('is a page, replaced as a whole, without other files', async () => {
    await writeReportFile(join(folder, 'a.html'), report())
    await writeReportFile(join(folder, 'a.html'), report({ version: '2' }))
    expect(readFileSync(join(folder, 'a.html'), 'utf8')).toMatch(/^<!doctype html>[\s\S]*submission-mirror 2 at/)
    expect(readdirSync(folder)).toEqual(['a.html'])
    for (const path of ['b.pdf', 'b.md']) expect(reportProblem(path)).toBe(`--report: "${path}" must end with .html`)
    expect([reportProblem('b.html'), reportProblem('b.HTML')]).toEqual([null, null])
    expect(reportProblem('/no/such/b.html')).toBe('--report: the folder /no/such does not exist; create it first')
    expect(reportProblem('/proc/sys/b.html')).toMatch(/^--report: the folder \/proc\/sys is not writable \(EACCES/)
  })

  it('that cannot be written reports the path, and leaves nothing', async () => {
    const path = join(folder, 'missing', 'a.html')
    await expect(writeReportFile(path, report())).rejects.toThrow(`the report cannot be written to ${path} (ENOENT`)
    expect(existsSync(join(folder, 'missing'))).toBe(false)
  })
})
