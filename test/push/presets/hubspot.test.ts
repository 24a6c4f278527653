import { expect, it } from 'vitest'
import { sqliteDatabase } from '../../tools/databases.ts'
import { at } from '../../tools/observations.ts'
import { hubspot } from './cases.ts'
import { describeNotes, startNotes } from './notes-suite.ts'
import { event, SUBMISSION } from './rig.ts'

describeNotes('HubSpot', hubspot)

it('gets a note as HTML, with its time and its company', async () => {
  const { target, rig } = await startNotes(hubspot, sqliteDatabase, 'personal_fields: [market_events.detail]')
  await rig.apply(event(1, { detail: '<b>10 & more</b>' }), event(2, { detail: '&'.repeat(30_000) }))
  const [row] = await rig.becomes('delivered', 'delivered')
  const [note, long] = target.notes
  expect(note).toMatchObject({ timestamp: at(1).replace('.000', ''), ourId: row?.message_id, associationType: 190 })
  expect(note?.html).toContain('<br>&lt;b&gt;10 &amp; more&lt;/b&gt;<br>At: ')
  expect(long?.text).toContain(`${'&'.repeat(100)}… (cut)\nAt: `)
})

it('counts no attempt that HubSpot throttles', async () => {
  const { target, rig } = await startNotes(hubspot, sqliteDatabase)
  target.fail('busy', 'busy')
  await rig.apply(event(1))
  expect(await rig.becomes('delivered')).toMatchObject([{ attempts: 1 }])
})

it('has a note once that the lookup does not show yet, when HubSpot keeps our ids unique', async () => {
  const { target, rig } = await startNotes(hubspot, sqliteDatabase, 'personal_fields: [market_events.detail]')
  target.forget()
  target.fail('lose')
  await rig.apply(event(1))
  expect(await rig.becomes('delivered')).toMatchObject([{ status: 400, detail: 'the target already had the record' }])
  expect(target.notes).toHaveLength(1)
  // HubSpot gave no id: a later fill is sent anyway.
  await rig.apply(event(1, { detail: 'Loss runs' }))
  await rig.becomes('delivered', 'delivered')
  expect(target.notes).toHaveLength(2)
})

it('shows the reason of a rejection', async () => {
  const { rig } = await startNotes(hubspot, sqliteDatabase)
  await rig.map(SUBMISSION, '4712')
  await rig.apply(event(1))
  expect(await rig.becomes('dead')).toMatchObject([{ attempts: 3, error: 'answered 400 (Some associations are invalid)' }])
})
