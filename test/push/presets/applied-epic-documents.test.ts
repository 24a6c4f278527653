import { expect, it, onTestFinished } from 'vitest'
import type { EpicEmulator } from '../../emulators/applied-epic.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { EPIC_ENV, epicWhere, startTestEpic } from './cases.ts'
import { PushRig, SUBMISSION } from './rig.ts'
import { deliveredBecomesUncertain, storing } from './storing.ts'

const SCOPE = 'epic/activity:read epic/activity:write epic/attachment:read epic/attachment:write'

interface Scene {
  readonly epic: EpicEmulator
  readonly rig: PushRig
  store(n: number, text: string): Promise<void>
}

async function start(own = ''): Promise<Scene> {
  const epic = await startTestEpic()
  const folder = newFolder()
  onTestFinished(() => epic.close())
  const where = `allow_private: true, allow_hosts: [127.0.0.1], ${epicWhere(epic, `scope: ${SCOPE}`)}`
  const patient = 'lookup_after: 50ms, schedule: [50ms, 50ms, 50ms, 50ms, 50ms], timeout: 3s, rps: 100'
  const destination = `{ name: epic, preset: applied-epic, ${where}, ${patient}, entities: [documents], documents: true, ${own} }`
  const rig = await PushRig.running(sqliteDatabase, destination, { DOCUMENTS_DIR: folder, ...EPIC_ENV })
  return { epic, rig, store: storing(rig, folder, SUBMISSION) }
}

it('gets a document as an attachment of the client, in two steps, and nothing before it is stored', async () => {
  const { epic, rig, store } = await start('personal_fields: [documents.name]')
  await rig.map(SUBMISSION, 'c-1')
  await store(1, '%PDF-1.7 the quote')
  const rows = await rig.becomes('skipped', 'delivered')
  expect(rows[0]?.error).toBe('not sent: this change stores no document')
  expect(epic.attachments).toEqual([
    {
      id: rows[1]?.remote_id,
      description: `Quote 1 for Jane.pdf [${rows[1]?.message_id}]`,
      attachTo: { id: 'c-1', type: 'ACCOUNT' },
      fileName: 'Quote 1 for Jane.pdf',
      folder: null,
      file: '%PDF-1.7 the quote',
    },
  ])
  expect(epic.activities).toEqual([])
})

it('gets it on the policy that the map names, and no name without opt-in', async () => {
  const { epic, rig, store } = await start()
  await rig.map(SUBMISSION, 'c-1', 'p-7')
  await store(1, '%PDF-1.7')
  const rows = await rig.becomes('skipped', 'delivered')
  expect(epic.attachments).toMatchObject([
    { description: `document.pdf [${rows[1]?.message_id}]`, attachTo: { id: 'p-7', type: 'POLICY' }, fileName: 'document.pdf' },
  ])
  expect(epic.arrived.map(({ body }) => body).join()).not.toContain('Jane')
})

it.each(['lose', 'drop', 'refuse'] as const)('gets only the bytes again when their upload fails (%s)', async (fault) => {
  const { epic, rig, store } = await start()
  await rig.map(SUBMISSION, 'c-1')
  epic.uploads.fail(fault)
  await store(1, '%PDF-1.7 one')
  const [, row] = await rig.becomes('skipped', 'delivered')
  expect(epic.attachments).toMatchObject([{ id: row?.remote_id, file: '%PDF-1.7 one' }])
  expect(epic.uploads.arrived).toHaveLength(2)
})

it('has the bytes already, as it says when it is asked after a restore', async () => {
  const { epic, rig, store } = await start()
  await rig.map(SUBMISSION, 'c-1')
  await store(1, '%PDF-1.7 one')
  await rig.becomes('skipped', 'delivered')
  await deliveredBecomesUncertain(rig)
  const [, row] = await rig.becomes('skipped', 'delivered')
  expect(row?.detail).toBe('the target has the record: the lookup found it')
  expect(epic.attachments).toHaveLength(1)
  expect(epic.uploads.arrived).toHaveLength(1)
})

it('needs a person when the answer to its record is lost: no answer contains the upload URL', async () => {
  const { epic, rig, store } = await start()
  await rig.map(SUBMISSION, 'c-1')
  epic.fail('lose')
  await store(1, '%PDF-1.7 one')
  const [, row] = await rig.becomes('skipped', 'unknown')
  expect(row?.error).toContain('look by hand')
  expect(epic.attachments).toMatchObject([{ file: null }])
})
