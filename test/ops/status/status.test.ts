import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { entities } from '../../../src/model/entities.ts'
import { idReads, readKinds } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Coverage } from '../../../src/ops/status/coverage.ts'
import type { Status } from '../../../src/ops/status/status.ts'
import { reportAlarm } from '../../../src/store/operators/alarms.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { learnIds } from '../../../src/store/reads/known-ids.ts'
import { addPaths, extraReadsOf } from '../../../src/store/reads/path-reads.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import { setReadsOffBySettings, switchReadOff } from '../../../src/store/reads/reads-off.ts'
import { readsStatus } from '../../../src/store/upkeep/status.ts'
import { json, runHere } from '../../app/run.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { type OpenedDatabase, runSql, testDatabases } from '../../tools/databases.ts'

const at = timeFromMs(Date.parse('2026-11-20T10:00:00Z'))
const alarm = { account: '', destination: '', since: at, last_at: at, resolved_at: null, text: 'so it is', notified_at: null }

describe.each(testDatabases)('status on $name', (database) => {
  let opened: OpenedDatabase

  beforeEach(async () => {
    opened = await database.open()
  })
  afterEach(() => opened.close())

  it('warns of alarms that fire, and of no others', async () => {
    const store = (name: string, state: 'pending' | 'firing' | 'resolved') =>
      reportAlarm(opened.db, { ...alarm, severity: 'warning', name, state }, [])
    const env = databaseEnv(opened.config)
    const warnings = async () => json<{ warnings: string[] }>(await runHere(['status', '--json'], env)).warnings
    await store('clock_skew', 'pending')
    await store('reads_overdue', 'resolved')
    expect(await warnings()).toEqual([])
    await store('disk_space', 'firing')
    expect(await warnings()).toEqual(['so it is; see docker/runbook.md#the-disk-fills'])
    await store('inbox_backlog', 'firing')
    expect((await runHere(['status'], env)).out).toMatch(/^Needs attention: the disk is nearly full; deliveries wait to be processed/)
  })

  it('shows which reads are off, and counts none of them as late', async () => {
    const { db } = opened
    await ensureAccounts(db, ['default'])
    await db.write('test', (tx) => addReads(tx, [{ account: 'default', submissionId: crypto.randomUUID() }], at, false))
    expect(await switchReadOff(db, 'default', 'sessions', 'it is refused', 86_400_000)).toBe(true)
    await setReadsOffBySettings(db, 'default', ['workspace'])
    const env = databaseEnv(opened.config)
    const shown = json<{ accounts: Status['accounts']; warnings: string[] }>(await runHere(['status', '--json'], env))
    expect(shown.accounts[0]?.coverage.filter(({ off }) => off !== null)).toMatchObject([
      { read: 'workspace', off: { cause: 'settings', reason: 'STATE_READS leaves it out', retry_at: null } },
      { read: 'sessions', off: { cause: 'service', reason: 'it is refused', retry_at: expect.any(String) } },
    ])
    expect(shown.accounts[0]?.reads.overdue).toBe(readKinds.length - 2)
    expect(shown.warnings).toContainEqual(
      expect.stringMatching(/^account default cannot use the read sessions: it is refused; the read is retried daily/),
    )
    expect((await runHere(['status'], env)).out).toMatch(/Reads and their freshness[\s\S]*sessions +submissions .* service/)
  })

  it('shows how many requests per second the schedule of the reads takes', async () => {
    const { db } = opened
    const due = timeFromMs(Date.parse('2026-11-20T10:00:50Z'))
    await db.write('test', (tx) => addReads(tx, [{ account: 'default', submissionId: crypto.randomUUID() }], due, false))
    await db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ last_read_at: at }).execute())
    expect((await readsStatus(db.read))('default').demand_rps).toBeCloseTo(readKinds.length / 50, 4)
  })

  it('shows the progress of the first fill of each read', async () => {
    const { db } = opened
    await ensureAccounts(db, ['default'])
    const places = Array.from({ length: 3 }, () => ({ account: 'default', submissionId: crypto.randomUUID() }))
    await db.write('test', (tx) => addReads(tx, places, at, false))
    await runSql(
      db,
      sql`
      update sync_reads set last_read_at = ${at} where (read <> 'workspace' or submission_id = ${places[0]?.submissionId ?? ''})`,
    )
    const env = databaseEnv(opened.config)
    const { accounts } = json<Pick<Status, 'accounts'>>(await runHere(['status', '--json'], env))
    expect(accounts[0]?.coverage.find(({ read }) => read === 'workspace')).toMatchObject({
      never: 2,
      total: 3,
      oldest_at: at,
      median_at: at,
    })
    const { out } = await runHere(['status'], env)
    expect(out).toMatch(/^default +workspace +submissions +1 of 3 /m)
  })

  it('trap 23, trap 80: coverage shows what is mirrored, how fresh, what is off, and what the service offers no way to find', async () => {
    const { db } = opened
    await ensureAccounts(db, ['default'])
    const place = { account: 'default', submissionId: crypto.randomUUID() }
    await db.write('test', async (tx) => {
      await addReads(tx, [place], at, false)
      const policy = { kind: 'policy', id: crypto.randomUUID(), ...place, via: 'thread' } as const
      await learnIds(tx, [policy])
    })
    await db.write('test', (tx) => addPaths(tx, 'default', extraReadsOf(['detail'], [place.submissionId])))
    await switchReadOff(db, 'default', 'sessions', 'it is refused', 86_400_000)
    const env = databaseEnv(opened.config)
    const { accounts, gaps } = json<Coverage>(await runHere(['status', '--coverage', '--json'], env))
    const reads = Object.fromEntries(accounts[0]?.reads.map((one) => [one.read, one]) ?? [])
    expect(Object.keys(reads)).toEqual([...readKinds, ...idReads, 'extra:detail'])
    expect(reads['events']).toMatchObject({ of: 'submissions', tables: ['market_events'], total: 1, done: 0, never: 1, off: null })
    expect(reads['sessions']).toMatchObject({
      tables: ['submissions', 'carrier_api_sessions'],
      off: { cause: 'service', reason: 'it is refused' },
    })
    expect(reads['policy']).toMatchObject({ of: 'ids', tables: ['policies'], total: 1, never: 1 })
    expect(reads['extra:detail']).toMatchObject({ of: 'submissions', tables: ['extra_reads'], total: 1 })
    const tables = accounts[0]?.tables.map(({ table }) => table)
    expect(tables).toEqual(entities.map(({ table }) => table))
    // Each table is filled by a listed read, except documents, which are listed separately.
    const filled = new Set(accounts[0]?.reads.flatMap(({ tables: some }) => some))
    expect(tables?.filter((table) => !filled.has(table))).toEqual(['documents'])
    expect(gaps.map(({ about }) => about)).toEqual(expect.arrayContaining(['submissions', 'bind requests', 'documents']))
    const { out } = await runHere(['status', '--coverage'], { ...env, COLUMNS: '200' })
    expect(out).toMatch(/Reads and their freshness[\s\S]*Mirrored tables[\s\S]*What the mirror may miss or learn late/)
    expect(out).toContain('• bind requests: The service does not list them.')
  })
})
