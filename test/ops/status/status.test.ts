import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readKinds } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { AccountStatus } from '../../../src/ops/status/status.ts'
import { reportAlarm } from '../../../src/store/operators/alarms.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import { setReadsOffBySettings, switchReadOff } from '../../../src/store/reads/reads-off.ts'
import { json, runHere } from '../../app/run.ts'
import { databaseEnv } from '../../e2e/serve.ts'
import { type OpenedDatabase, testDatabases } from '../../tools/databases.ts'

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
    expect(await warnings()).toEqual(['alarm disk_space fires: so it is; see docker/runbook.md#the-disk-fills'])
    await store('inbox_backlog', 'firing')
    expect((await runHere(['status'], env)).out).toMatch(/^Needs attention: alarm disk_space fires; alarm inbox_backlog fires/)
  })

  it('tells which reads are off, and counts none of them as late', async () => {
    const { db } = opened
    await ensureAccounts(db, ['default'])
    await db.write('test', (tx) => addReads(tx, [{ account: 'default', submissionId: crypto.randomUUID() }], at, false))
    expect(await switchReadOff(db, 'default', 'sessions', 'it is refused', 86_400_000)).toBe(true)
    await setReadsOffBySettings(db, 'default', ['workspace'])
    const env = databaseEnv(opened.config)
    const told = json<{ accounts: AccountStatus[]; warnings: string[] }>(await runHere(['status', '--json'], env))
    expect(told.accounts[0]?.reads_off).toMatchObject([
      { read: 'sessions', cause: 'service', reason: 'it is refused', retry_at: expect.any(String) },
      { read: 'workspace', cause: 'settings', reason: 'STATE_READS leaves it out', retry_at: null },
    ])
    expect(told.accounts[0]?.reads.overdue).toBe(readKinds.length - 2)
    expect(told.warnings).toContainEqual(
      expect.stringMatching(/^account default is not read by sessions: it is refused; it is tried again daily/),
    )
    expect((await runHere(['status'], env)).out).toMatch(/Reads that are off[\s\S]*sessions +service/)
  })
})
