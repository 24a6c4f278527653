import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import { reportAlarm } from '../../../src/store/operators/alarms.ts'
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
})
