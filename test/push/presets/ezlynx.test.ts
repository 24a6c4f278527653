import { expect, it } from 'vitest'
import { sqliteDatabase } from '../../tools/databases.ts'
import { until } from '../../tools/until.ts'
import { ezlynx } from './cases.ts'
import { describeNotes, startNotes } from './notes-suite.ts'
import { event, SUBMISSION } from './rig.ts'

describeNotes('EZLynx', ezlynx)

it('knows a note under our id when the answer bears none, and finds it by that', async () => {
  const { target, rig } = await startNotes(ezlynx, sqliteDatabase, 'personal_fields: [market_events.detail]')
  target.giveNoIds()
  await rig.apply(event(1))
  const [row] = await rig.becomes('delivered')
  expect(row?.remote_id).toBe(row?.message_id)
  target.fail('lose')
  await rig.apply(event(1, { detail: 'Loss runs' }))
  await rig.becomes('delivered', 'delivered')
  expect(target.notes.map(({ text }) => text.split('\n')[0])).toEqual(['Status changed: Market 1', 'Changed: Market events'])
})

it('is for a person when the discussion is shown without the text of its notes', async () => {
  const { target, rig } = await startNotes(ezlynx, sqliteDatabase)
  target.hideText()
  target.fail('lose')
  await rig.apply(event(1))
  const [row] = await rig.becomes('unknown')
  expect(row?.error).toContain('look by hand')
  expect(target.notes).toHaveLength(1)
})

it('dead-letters a change immediately if its map names no discussion, and says so', async () => {
  const { target, rig } = await startNotes(ezlynx, sqliteDatabase)
  rig.fieldsOf = () => ({})
  await rig.map(SUBMISSION, '55012345')
  await rig.apply(event(1))
  const [row] = await rig.becomes('dead')
  expect(row?.error).toContain('the map has no field discussion for this submission')
  expect(target.arrived).toEqual([])
})

it('is suspended for a user of another agency', async () => {
  const { target, rig } = await startNotes({ ...ezlynx, env: { ...ezlynx.env, EZLYNX_USERNAME: 'vendor' } }, sqliteDatabase)
  await rig.apply(event(1))
  await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
  expect(target.notes).toEqual([])
})
