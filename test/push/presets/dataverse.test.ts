import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startDataverse } from '../../emulators/dataverse.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { uuid } from '../../tools/facts.ts'
import { itemOf } from '../http/support.ts'
import { describeNotes, event, type NotesCase, SUBMISSION, startNotes } from './notes-suite.ts'
import { storing } from './storing.ts'

const ACCOUNT_ROW = uuid(20, 1)

const dataverse: NotesCase<Awaited<ReturnType<typeof startDataverse>>> = {
  preset: 'dataverse',
  env: {
    DATAVERSE_HOST: 'acme.crm.dynamics.com',
    DATAVERSE_TENANT: 'the-tenant',
    DATAVERSE_CLIENT_ID: 'the-app',
    DATAVERSE_CLIENT_SECRET: 'the-secret',
  },
  start: () =>
    startDataverse({
      clientId: 'the-app',
      clientSecret: 'the-secret',
      scope: 'https://acme.crm.dynamics.com/.default',
      accounts: [ACCOUNT_ROW],
    }),
  where: ({ url }) => `settings: { base_url: "${url}" }, auth: { token_url: "${url}/the-tenant/oauth2/v2.0/token" }`,
  client: ACCOUNT_ROW,
  stranger: uuid(20, 2),
  hasTokens: true,
}

describeNotes('Dataverse', dataverse)

it('makes a note under our own id, leaves one that is there as it is, and can be asked for it', async () => {
  const { target, rig } = await startNotes(dataverse, sqliteDatabase)
  await rig.map(SUBMISSION, ACCOUNT_ROW)
  target.fail('lose')
  await rig.apply(event(1))
  const [row] = await rig.becomes('delivered')
  expect(row).toMatchObject({ attempts: 2, status: 412, detail: 'the target had it already', remote_id: row?.message_id })
  const signal = new AbortController().signal
  expect(await rig.kind.lookUp?.(itemOf({ messageId: row?.message_id ?? '' }), signal)).toMatchObject({ remoteId: row?.message_id })
  expect(await rig.kind.lookUp?.(itemOf(), signal)).toBeNull()
})

it('waits as long as Dataverse asks for, and counts no try', async () => {
  const { target, rig } = await startNotes(dataverse, sqliteDatabase)
  await rig.map(SUBMISSION, ACCOUNT_ROW)
  target.fail('busy')
  await rig.apply(event(1))
  expect(await rig.becomes('delivered')).toMatchObject([{ attempts: 1, status: 204 }])
})

it('gets a document as a note with a file, and none that is too large', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'submission-mirror-dataverse-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const own = 'entities: [documents], documents: true, personal_fields: [documents.name]'
  const small = { ...dataverse, env: { ...dataverse.env, DOCUMENTS_DIR: folder } }
  const where = (target: Parameters<typeof dataverse.where>[0]) =>
    dataverse.where(target).replace('settings: {', 'settings: { most_bytes: 40,')
  const { target, rig } = await startNotes({ ...small, where }, sqliteDatabase, own)
  await rig.map(SUBMISSION, ACCOUNT_ROW)
  const store = storing(rig, folder, SUBMISSION)
  await store(1, '%PDF-1.7 the quote')
  await store(2, '%PDF-1.7 which is longer than forty')
  const rows = await rig.becomes('skipped', 'delivered', 'skipped', 'dead')
  expect(target.notes).toMatchObject([
    { id: rows[1]?.message_id, file: { name: 'Quote 1 for Jane.pdf', type: 'application/pdf', content: '%PDF-1.7 the quote' } },
  ])
  expect(rows[3]?.error).toContain('the document is larger than Dataverse takes (settings.most_bytes)')
})
