import { expect, it, onTestFinished } from 'vitest'
import { BadSignatures } from '../../src/receive/bad-signatures.ts'
import { Rejections } from '../../src/receive/rejections.ts'
import { RejectedStore } from '../../src/store/inbox/rejected.ts'
import { Counts } from '../tools/counts.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { account, newSecret, openRaw, recordingLog, sign, startTestReceiver } from './support.ts'

it('logs only the kept ones of many rejections, and only what distinguishes them', async () => {
  const opened = await closedAtEnd(sqliteDatabase.open())
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

it('stores a genuine delivery whose secret is not configured yet, after a stranger sent 65 large ones with bad signatures', async () => {
  const opened = await closedAtEnd(sqliteDatabase.open())
  const { running, port, rejected } = await startTestReceiver({
    db: opened.db,
    accounts: [account('acme', [newSecret()], true)],
    bodyLimitBytes: 4 << 20,
  })
  onTestFinished(() => running.stop(1_000))
  const answerTo = async (localAddress: string, id: string, body: string) => {
    const connection = await openRaw(port, localAddress)
    const headers = Object.entries({ ...sign(newSecret(), body, { id }), 'content-length': String(body.length) })
    connection.write(
      `POST /webhooks HTTP/1.1\r\nhost: mirror\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
    )
    const status = (await connection.hears('\r\n\r\n')).slice(9, 12)
    connection.socket.destroy()
    return status
  }
  for (let n = 0; n < 65; n += 1) await answerTo('127.0.0.2', `msg_bad_${n}`, 'x'.repeat(1 << 20))
  expect(await answerTo('127.0.0.3', 'msg_genuine', '{}')).toBe('401')
  await rejected.settled()
  const [newest, ...others] = await rejected.list({})
  expect([newest?.headers['svix-id'], newest?.body_cut, others.length]).toEqual(['msg_genuine', false, 1])
})
