import { expect, it } from 'vitest'
import { sqliteDatabase } from '../../tools/databases.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { itemOf } from '../http/support.ts'
import { dataverse } from './cases.ts'
import { describeNotes, startNotes } from './notes-suite.ts'
import { event, SUBMISSION } from './rig.ts'
import { storing } from './storing.ts'

describeNotes('Dataverse', dataverse)

it("creates a note under the program's id, leaves an existing one unchanged, and can be asked for it", async () => {
  const { target, rig } = await startNotes(dataverse, sqliteDatabase)
  target.fail('lose')
  await rig.apply(event(1))
  const [row] = await rig.becomes('delivered')
  expect(row).toMatchObject({ attempts: 2, status: 412, detail: 'the target already had the record', remote_id: row?.message_id })
  const signal = new AbortController().signal
  expect(await rig.kind.lookUp?.(itemOf({ messageId: row?.message_id ?? '' }), signal)).toMatchObject({ remoteId: row?.message_id })
  expect(await rig.kind.lookUp?.(itemOf(), signal)).toBeNull()
})

it('waits for the time that Dataverse requests, and counts no attempt', async () => {
  const { target, rig } = await startNotes(dataverse, sqliteDatabase)
  target.fail('busy')
  await rig.apply(event(1))
  expect(await rig.becomes('delivered')).toMatchObject([{ attempts: 1, status: 204 }])
})

it('gets a document as a note with a file, and none that is too large', async () => {
  const folder = newFolder()
  const own = 'entities: [documents], documents: true, personal_fields: [documents.name]'
  const small = { ...dataverse, env: { ...dataverse.env, DOCUMENTS_DIR: folder } }
  const where = (target: Parameters<typeof dataverse.where>[0]) =>
    dataverse.where(target).replace('settings: {', 'settings: { most_bytes: 40,')
  const { target, rig } = await startNotes({ ...small, where }, sqliteDatabase, own)
  const store = storing(rig, folder, SUBMISSION)
  await store(1, '%PDF-1.7 the quote')
  await store(2, '%PDF-1.7 which is longer than forty')
  const rows = await rig.becomes('skipped', 'delivered', 'skipped', 'dead')
  expect(target.notes).toMatchObject([
    { id: rows[1]?.message_id, file: { name: 'Quote 1 for Jane.pdf', type: 'application/pdf', content: '%PDF-1.7 the quote' } },
  ])
  expect(rows[3]?.error).toContain('the document is larger than Dataverse takes (settings.most_bytes)')
})
