import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { timeFromMs } from '../../src/model/time.ts'
import type { AlarmMessage } from '../../src/ops/alarms/message.ts'
import { runHere } from '../app/run.ts'
import { hook } from '../config/support.ts'
import { startReceiver } from '../push/receiver.ts'
import { openAgain } from '../tools/databases.ts'
import { waitFor } from './agreement.ts'
import { openQuietWorld } from './quiet-world.ts'
import { databaseEnv, startServe } from './serve.ts'
import { postSigned } from './signed.ts'

const ACCOUNT = 'default'
/** A look comes every half minute. */
const LOOK_MS = 60_000
const LATER_MS = 6 * 60_000

/**
 * The runbook's steps, taken as they are written: an installation in which much is wrong at once tells its operator, is mended by the
 * commands and settings that docker/runbook.md names, and says that it is over.
 */
it('what the runbook says mends what the alarms tell', { timeout: 240_000 }, async () => {
  const { sandbox, opened } = await openQuietWorld()
  const oncall = await startReceiver()
  const ams = await startReceiver((_, response) => response.writeHead(410).end())
  const { credentials, webhookSecret } = sandbox.account(ACCOUNT)
  const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-runbook-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'mirror.yaml')
  const writeSettings = (given: { secret: string; key: string; limit: string }) => {
    const account = { name: ACCOUNT, default: true, base_url: sandbox.baseUrl, webhook_secrets: [given.secret] }
    const shared = { kind: 'webhook', secret: '${HOOK}', allow_private: true }
    writeFileSync(
      file,
      JSON.stringify({
        accounts: [{ ...account, client_credentials: [{ id: credentials[0]?.clientId, secret: given.key }] }],
        destinations: [{ name: 'ams', url: ams.url, ...shared }],
        operators: [{ name: 'oncall', url: oncall.url, ...shared }],
        receiver: { body_limit: given.limit },
      }),
    )
  }
  const env = { ...databaseEnv(opened.config), CONFIG_FILE: file, HOOK: hook(6), POLL_ACTIVE: '1s' }
  const told = (type: AlarmMessage['type']) =>
    oncall.arrived
      .map(({ body }) => JSON.parse(body) as AlarmMessage)
      .filter((message) => message.type === type)
      .map(({ data }) => data.name)
      .sort()

  // First all is well, and a change finds its destination gone.
  writeSettings({ secret: webhookSecret, key: credentials[0]?.clientSecret ?? '', limit: '4MiB' })
  const first = await startServe(env)
  sandbox.setTarget(ACCOUNT, `${first.receiver}/webhooks`)
  const submission = sandbox.addSubmission(ACCOUNT)
  sandbox.addMessage(ACCOUNT, submission, { body_text: 'The quote is here.' })
  await sandbox.deliveriesSettled()
  expect(await waitFor(() => ams.arrived.length > 0, LOOK_MS)).toBe(true)
  await first.stop()

  // Then the secret and the key are changed in the portal, but not here, and the limit is set too low.
  writeSettings({ secret: hook(7), key: 'bas_revoked', limit: '1KiB' })
  const wrong = await startServe(env)
  const refused: number[] = []
  for (let n = 0; n < 3; n++)
    refused.push((await postSigned(`${wrong.receiver}/webhooks`, webhookSecret, '{"type":"submission.events"}')).status)
  refused.push((await postSigned(`${wrong.receiver}/webhooks`, webhookSecret, JSON.stringify({ text: 'x'.repeat(2_000) }))).status)
  expect(refused).toEqual([401, 401, 401, 413])
  const expected = ['account_stopped', 'deliveries_refused', 'delivery_too_large', 'destination_stopped']
  expect(await waitFor(() => expected.every((name) => told('alarm.firing').includes(name)), LOOK_MS)).toBe(true)
  expect(told('alarm.firing')).toEqual(expected)
  await wrong.stop()

  // What the sections of the runbook say.
  expect((await runHere(['inbox', 'list', '--rejected'], env)).out).toContain('wrong_signature')
  writeSettings({ secret: webhookSecret, key: credentials[0]?.clientSecret ?? '', limit: '4MiB' })
  ams.behave((_, __, take) => take())
  expect((await runHere(['inbox', 'replay', '--rejected'], env)).code).toBe(0)
  expect((await runHere(['account', 'list'], env)).out).toMatch(/parked.*refuses the credentials/)
  expect((await runHere(['account', 'resume', ACCOUNT], env)).code).toBe(0)
  expect((await runHere(['destination', 'list'], env)).out).toContain('disabled')
  expect((await runHere(['destination', 'test', 'ams'], env)).out).toContain('it took a signed message')
  expect((await runHere(['destination', 'resume', 'ams'], env)).code).toBe(0)
  const mended = await startServe(env)
  onTestFinished(async () => void (await mended.stop()))
  expect(await waitFor(() => ams.taken.length > 0, LOOK_MS)).toBe(true)
  expect(await waitFor(async () => (await runHere(['account', 'list'], env)).out.includes('active'), LOOK_MS)).toBe(true)

  // What is over for five minutes is over. A delivery was too large within the last day, whatever was done since.
  await mended.stop()
  const db = await openAgain(opened.config)
  const before = timeFromMs(Date.now() - LATER_MS)
  await db.write('test', (tx) => tx.sql.updateTable('alarms').set({ last_at: before }).execute())
  await db.close()
  const last = await startServe(env)
  onTestFinished(async () => void (await last.stop()))
  const over = expected.filter((name) => name !== 'delivery_too_large')
  expect(await waitFor(() => over.every((name) => told('alarm.resolved').includes(name)), LOOK_MS)).toBe(true)
  expect(told('alarm.resolved')).toEqual(over)
  expect((await runHere(['alarm', 'list'], env)).out).toMatch(/^alarm .*\ndelivery_too_large /m)
})
