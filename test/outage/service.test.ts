import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import { inboxRows, untilAgreed, waitFor } from '../e2e/agreement.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { serveHere } from '../e2e/serve-here.ts'
import { newSqlite, openAgain } from '../tools/databases.ts'
import { freePort } from '../tools/free-port.ts'
import { readiness } from './load.ts'

const MINUTE_MS = 60_000

it('while the service is away at the start deliveries are taken, and polling catches up when it comes', async () => {
  const options: SandboxOptions = { seed: 'away', submissions: 3, autoStart: false, port: await freePort(), startMs: Date.now() }
  const before = await startSandbox(options)
  const account = accountEnv(before)
  const [told = '', untold = ''] = before.submissionIds('default')
  await before.close()
  const place = newSqlite()
  onTestFinished(() => place.remove())
  const running = await serveHere({ ...databaseEnv(place.config), ...account })
  onTestFinished(async () => void (await running.stop()))
  await readiness(running, 200)

  // The same service, with its API on another port than the settings name: it can deliver, and cannot be asked.
  const unreachable = await startSandbox({ ...options, port: 0 })
  unreachable.setTarget('default', `${running.receiver}/webhooks`)
  const message = unreachable.addMessage('default', told, { body_text: 'told while the service is away' })
  await unreachable.deliveriesSettled()
  expect(unreachable.stats().deliveries).toMatchObject({ acknowledged: 1, givenUp: 0 })
  const db = await openAgain(place.config)
  onTestFinished(() => db.close())
  expect(await waitFor(async () => (await inboxRows(db)).every((row) => row['state'] === 'done'))).toBe(true)
  expect(await db.read.sql.selectFrom('thread_messages').select('message_id').execute()).toEqual([{ message_id: message.id }])
  expect(await waitFor(async () => (await failing()).length > 0)).toBe(true)
  await readiness(running, 200)
  await unreachable.close()

  const back = await startSandbox(options)
  onTestFinished(() => back.close())
  for (const id of back.submissionIds('default')) if (id !== told && id !== untold) back.removeSubmission('default', id)
  back.addMessage('default', told, message)
  back.setTarget('default', `${running.receiver}/webhooks`)
  back.addMessage('default', untold, { body_text: 'the service is back' })
  await back.deliveriesSettled()
  // So long a service that was away may be left alone.
  running.wake({ passedMs: MINUTE_MS })
  expect(await untilAgreed(db, back, running), running.lines().join('\n')).toEqual([])
  expect(await running.stop()).toBe(0)

  async function failing() {
    return await db.read.sql.selectFrom('sync_reads').select('error').where('failures', '>', 0).execute()
  }
})
