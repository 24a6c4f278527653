import { expect, it } from 'vitest'
import { retentionProblems } from '../../../src/ops/alarms/watch-upkeep.ts'
import { lastSlot } from '../../../src/reconcile/run/schedule.ts'
import { recordHeartbeat } from '../../../src/store/upkeep/processes.ts'
import { claimUpkeep, endUpkeep, setUpkeepWait } from '../../../src/store/upkeep/upkeep.ts'
import { onSqlite } from '../../tools/databases.ts'
import { HOUR, MINUTE, openWatch } from './rig.ts'

const hourly = { cron: '0 * * * *', timeZone: 'UTC' }

it.each(onSqlite)('a failed or missing backup raises an alarm until one is made, on $name', async (database) => {
  const rig = await openWatch(database, { backup: { cron: hourly.cron } })
  const begin = async () => {
    const slot = lastSlot(hourly, rig.clock.now())
    const lease = await claimUpkeep(rig.db, 'backup', { slot, settings: '' }, MINUTE)
    if (typeof lease === 'string') throw new Error(lease)
    return (note: string | null) => endUpkeep(rig.db, lease, note)
  }
  const look = async (afterMs?: number) => (await rig.look(afterMs)).filter((name) => name.startsWith('backup'))
  const lookLater = async () => (await rig.lookLater()).filter((name) => name.startsWith('backup'))
  expect(await look()).toEqual([])
  const ends = await begin()
  expect(await look()).toEqual([])
  await ends(null)
  await setUpkeepWait(rig.db, 'backup', 'there is no room')
  expect(await look()).toEqual([])
  expect(await look(16 * MINUTE)).toEqual(['backup_overdue'])
  expect((await rig.alarm('backup_overdue'))?.text).toBe(
    'the backup by BACKUP_CRON failed: there is no room; the log of `serve` shows more (`backup`)',
  )
  await (await begin())('ran')
  expect(await lookLater()).toEqual([])
  expect(await look(HOUR)).toEqual([])
  expect(await look(3 * HOUR)).toEqual([])
  for (const _ of [5, 10]) expect(await look(5 * MINUTE)).toEqual([])
  expect(await look(5 * MINUTE)).toEqual(['backup_overdue'])
  expect((await rig.alarm('backup_overdue'))?.text).toMatch(
    /^a backup was due at \d{4}-\d\d-\d\d \d\d:00:00 UTC, but none has been made and test-restored since;/,
  )
  const made = await begin()
  await made('ran')
  expect(await lookLater()).toEqual([])
})

it.each(onSqlite)('late retention raises an alarm while `serve` runs, not while only a command runs, on $name', async (database) => {
  const rig = await openWatch(database)
  const lease = await claimUpkeep(rig.db, 'retention', { slot: '', settings: '' }, MINUTE)
  if (typeof lease === 'string') throw new Error(lease)
  await endUpkeep(rig.db, lease, 'ran')
  rig.clock.advance(5 * 24 * HOUR)
  for (const role of ['sync', 'reconcile', 'verify', 'receive'] as const) {
    await recordHeartbeat(rig.db, { id: role, role, version: '1' })
    const late = (await retentionProblems(rig.db.read, rig.clock.now())).map(({ name }) => name)
    expect([role, late]).toEqual([role, role === 'receive' ? ['retention_late'] : []])
  }
})
