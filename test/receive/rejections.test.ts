import { expect, it, onTestFinished } from 'vitest'
import { BadSignatures } from '../../src/receive/bad-signatures.ts'
import { Rejections } from '../../src/receive/rejections.ts'
import { RejectedStore } from '../../src/store/inbox/rejected.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { Counts, recordingLog } from './support.ts'

it('of many that are refused at once only those that are kept are logged, and no more of each than tells them apart', async () => {
  const opened = await sqliteDatabase.open()
  onTestFinished(() => opened.close())
  const { log, lines } = recordingLog()
  const [store, observer] = [new RejectedStore(opened.db, log), new Counts()]
  const rejections = new Rejections({ store, badSignatures: new BadSignatures(), log, observer })
  const headers = { 'webhook-id': 'i'.repeat(1_000) }
  const refused = { account: null, path: `/webhooks/${'p'.repeat(1_000)}`, address: '192.0.2.1', headers, receivedAt: 0, body: null }
  for (let n = 0; n < 100; n += 1) expect(rejections.reject(refused, 'unknown_account').status).toBe(404)
  await store.settled()
  expect(observer.of('deliveries_rejected_total', { account: 'unknown', reason: 'unknown_account' })).toBe(100)
  expect(lines.length).toBe((await store.list({ limit: 100 })).length)
  expect(lines.length).toBeLessThan(100)
  expect(lines[0]).toMatchObject({ delivery: 'i'.repeat(128), path: `/webhooks/${'p'.repeat(118)}` })
})
