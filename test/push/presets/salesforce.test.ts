import { expect, it } from 'vitest'
import { sqliteDatabase } from '../../tools/databases.ts'
import { until } from '../../tools/until.ts'
import { itemOf } from '../http/support.ts'
import { salesforce } from './cases.ts'
import { describeNotes, startNotes } from './notes-suite.ts'
import { event, SUBMISSION } from './rig.ts'

const inBatches = { ...salesforce, preset: 'salesforce-batch' }

describeNotes('Salesforce', salesforce)
describeNotes('Salesforce in batches', inBatches)

it('waits while the quota is used up or a record is locked, and counts no attempt', async () => {
  const { target, rig } = await startNotes(salesforce, sqliteDatabase)
  target.fail('busy', 'busy')
  target.errors.push({ status: 400, errorCode: 'UNABLE_TO_LOCK_ROW' })
  await rig.apply(event(1))
  expect(await rig.becomes('delivered')).toMatchObject([{ attempts: 1, status: 201 }])
  expect((await rig.state())?.state).toBe('active')
})

it('is suspended by any other 403', async () => {
  const { target, rig } = await startNotes(salesforce, sqliteDatabase)
  target.errors.push({ status: 403, errorCode: 'API_DISABLED_FOR_ORG' })
  await rig.apply(event(1))
  await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
  expect((await rig.outbox())[0]?.error).toContain('answered 403 (API_DISABLED_FOR_ORG: as the test wants it)')
})

it('dead-letters immediately if several records have the id, or a duplicate rule rejects it', async () => {
  const { target, rig } = await startNotes(salesforce, sqliteDatabase)
  await rig.apply(event(1))
  const [row] = await rig.becomes('delivered')
  expect(await rig.kind.lookUp?.(itemOf({ messageId: row?.message_id ?? '' }), new AbortController().signal)).toMatchObject({
    remoteId: target.notes[0]?.id,
  })
  expect(await rig.kind.lookUp?.(itemOf(), new AbortController().signal)).toBeNull()

  const twice = { ...salesforce, start: async () => withTwo(row?.message_id ?? '') }
  const other = await startNotes(twice, sqliteDatabase)
  await other.rig.map(SUBMISSION, salesforce.client)
  other.target.errors.push({ status: 400, errorCode: 'DUPLICATES_DETECTED' })
  await other.rig.apply(event(1), event(2))
  const rows = await other.rig.becomes('dead', 'dead')
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1])
  expect(rows[0]?.error).toContain('answered 300 (several records have this external id')
})

async function withTwo(externalId: string) {
  const target = await salesforce.start()
  for (const id of ['00T1', '00T2']) target.notes.push({ id, externalId, client: salesforce.client, date: '', text: '' })
  return target
}

it('gets the task onto the record that the map names as policy', async () => {
  const { target, rig } = await startNotes({ ...salesforce, client: 'unused' }, sqliteDatabase)
  await rig.map(SUBMISSION, 'unknown-client', salesforce.client)
  await rig.apply(event(1))
  await rig.becomes('delivered')
  expect(target.notes).toMatchObject([{ client: salesforce.client, date: '2026-01-05' }])
})
