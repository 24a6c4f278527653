import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import { inboxRows, untilAgreed, waitFor } from '../e2e/agreement.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { serveHere } from '../e2e/serve-here.ts'
import { newSqlite, openAgain } from '../tools/databases.ts'
import { freePort } from '../tools/free-port.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { readiness } from './load.ts'

const MINUTE_MS = 60_000

it('while the service is away at the start deliveries are taken, and polling catches up when it comes', async () => {
  const options: SandboxOptions = { seed: 'away', submissions: 3, autoStart: false, port: await freePort(), startMs: Date.now() }
  const before = await startSandbox(options)
  const account = accountEnv(before)
  const [announced = '', silent = ''] = before.submissionIds('default')
  await before.close()
  const place = newSqlite()
  onTestFinished(() => place.remove())
  const running = await serveHere({ ...databaseEnv(place.config), ...account })
  onTestFinished(async () => void (await running.stop()))
  await readiness(running, 200)

  // The same service with its API on an unlisted port: it delivers but can't be read.
  const unreachable = await startSandbox({ ...options, port: 0 })
  unreachable.account('default').target = `${running.receiver}/webhooks`
  const message = unreachable.addMessage('default', announced, { body_text: 'sent while the service is away' })
  await unreachable.deliveries.idle()
  expect(unreachable.stats().deliveries).toMatchObject({ acknowledged: 1, givenUp: 0 })
  const db = await closedAtEnd(openAgain(place.config))
  expect(await waitFor(async () => (await inboxRows(db)).every((row) => row['state'] === 'done'))).toBe(true)
  expect(await db.read.sql.selectFrom('thread_messages').select('message_id').execute()).toEqual([{ message_id: message.id }])
  expect(await waitFor(async () => (await failing()).length > 0)).toBe(true)
  await readiness(running, 200)
  await unreachable.close()

  const back = await closedAtEnd(startSandbox(options))
  for (const id of back.submissionIds('default')) if (id !== announced && id !== silent) back.world.removeSubmission('default', id)
  back.addMessage('default', announced, message)
  back.account('default').target = `${running.receiver}/webhooks`
  back.addMessage('default', silent, { body_text: 'the service is back' })
  await back.deliveries.idle()
  // The longest pause after an unavailable service.
  running.wake({ passedMs: MINUTE_MS })
  expect(await untilAgreed(db, back, running), running.lines().join('\n')).toEqual([])
  expect(await running.stop()).toBe(0)

  async function failing() {
    return await db.read.sql.selectFrom('sync_reads').select('error').where('failures', '>', 0).execute()
  }
})
