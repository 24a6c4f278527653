import { expect, it } from 'vitest'
import { sqliteDatabase } from '../../tools/databases.ts'
import { agencyzoom } from './cases.ts'
import { describeNotes, startNotes } from './notes-suite.ts'
import { event, SUBMISSION } from './rig.ts'

describeNotes('AgencyZoom', agencyzoom)

it('counts no attempt that AgencyZoom throttles, and logs in once for all', async () => {
  const { target, rig } = await startNotes(agencyzoom, sqliteDatabase)
  target.fail('busy', 'busy', 'busy')
  await rig.apply(event(1), event(2))
  expect(await rig.becomes('delivered', 'delivered')).toMatchObject([{ attempts: 1 }, { attempts: 1 }])
  expect(target.logins()).toBe(1)
  expect(target.arrived.map(({ path }) => path)).not.toContain('/v1/api/customers/4711')
})

it('shows the reason of a rejection', async () => {
  const { rig } = await startNotes(agencyzoom, sqliteDatabase)
  await rig.map(SUBMISSION, '4712')
  await rig.apply(event(1))
  expect(await rig.becomes('dead')).toMatchObject([
    { attempts: 1, error: expect.stringContaining('answered 404 (Not Found: Customer not found)') },
  ])
})

it('is for a person when the answer of the lookup shows no notes', async () => {
  const { target, rig } = await startNotes(agencyzoom, sqliteDatabase)
  target.hideNotes()
  target.fail('lose')
  await rig.apply(event(1))
  const [row] = await rig.becomes('unknown')
  expect(row?.error).toContain('look by hand')
  expect(target.notes).toHaveLength(1)
})

it('gets a value that arrives later as a separate note', async () => {
  const { target, rig } = await startNotes(agencyzoom, sqliteDatabase, 'personal_fields: [market_events.detail]')
  await rig.apply(event(1))
  await rig.becomes('delivered')
  target.fail('lose')
  await rig.apply(event(1, { detail: 'Loss runs' }))
  const rows = await rig.becomes('delivered', 'delivered')
  expect(target.notes.map(({ text }) => text.split('\n')[0])).toEqual(['Status changed: Market 1', 'Changed: Market events'])
  expect(rows.map(({ remote_id: id }) => id)).toEqual(['501', '501'])
})
