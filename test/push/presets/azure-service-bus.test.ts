import { expect, it } from 'vitest'
import { changeMessage } from '../../../src/push/contract/change-message.ts'
import { type ServiceBusEmulator, startServiceBus } from '../../emulators/service-bus.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { itemOf } from '../http/support.ts'
import { ACCOUNT, event, message, PushRig, SUBMISSION } from './rig.ts'

const ENV = {
  SERVICE_BUS_HOST: 'acme.servicebus.windows.net',
  SERVICE_BUS_QUEUE: 'changes',
  SERVICE_BUS_TENANT: 'the-tenant',
  SERVICE_BUS_CLIENT_ID: 'the-app',
  SERVICE_BUS_CLIENT_SECRET: 'the-secret-of-the-bus',
  SHUTDOWN_GRACE: '1s',
}

async function start(own = ''): Promise<{ target: ServiceBusEmulator; rig: PushRig }> {
  const target = await closedAtEnd(startServiceBus({ clientId: 'the-app', clientSecret: 'the-secret-of-the-bus', mostBytes: 4_000 }))
  const near = `settings: { base_url: "${target.url}", pause_seconds: 0.1 }, auth: { token_url: "${target.url}/token" }, allow_private: true, allow_hosts: [127.0.0.1]`
  const patient = `schedule: [${Array(10).fill('50ms').join()}], timeout: 3s, entities: [market_events, thread_messages]`
  const rig = await PushRig.running(sqliteDatabase, `{ name: bus, preset: azure-service-bus, ${near}, ${patient}, ${own} }`, ENV)
  return { target, rig }
}

it('sends each change as a message: our id for duplicate detection, the submission its session, a webhook’s body', async () => {
  const { target, rig } = await start()
  await rig.apply(event(1, { detail: 'Jane called' }), message(2, { direction: 'inbound' }))
  const rows = await rig.becomes('delivered', 'delivered')
  expect(target.messages.map(({ id, session }) => [id, session])).toEqual(rows.map((row) => [row.message_id, `${ACCOUNT}/${SUBMISSION}`]))
  const [first, second] = target.messages.map(({ body }) => JSON.parse(body))
  expect(first).toMatchObject({ type: 'market_events.insert', data: { seq: rows[0]?.seq, submission_id: SUBMISSION, before: null } })
  expect(second).toMatchObject({ brokerage: { direction: 'sent' } })
  expect(JSON.stringify(target.messages)).not.toMatch(/Jane|Text of message/)
})

it('has each message once, in order, despite any faults', async () => {
  const { target, rig } = await start()
  target.fail('lose', 'take', 'drop', 'take', 'hang', 'take', 'refuse', 'busy', 'fall', 'page', 'take')
  for (let n = 1; n <= 5; n += 1) await rig.apply(event(n))
  await rig.becomes(...Array<string>(5).fill('delivered'))
  target.revokeTokens()
  for (let n = 6; n <= 8; n += 1) await rig.apply(event(n))
  const rows = await rig.becomes(...Array<string>(8).fill('delivered'))
  expect(target.left()).toBe(0)
  expect(target.messages.map(({ id }) => id)).toEqual(rows.map(({ message_id: id }) => id))
})

it('waits while the queue is full, and dead-letters too large messages immediately', async () => {
  const { target, rig } = await start('personal_fields: [market_events.detail]')
  target.errors.push({ status: 403, detail: 'The maximum entity size has been reached or exceeded: quota' })
  await rig.apply(event(1), event(2, { detail: 'x'.repeat(5_000) }))
  const rows = await rig.becomes('delivered', 'dead')
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1])
})

it('is suspended when the role or the queue is gone, and shows no secret', async () => {
  const { target, rig } = await start()
  expect(await rig.kind.probe(new AbortController().signal)).toMatchObject({ ok: null })
  target.withdraw()
  await rig.apply(event(1))
  await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
  expect(JSON.stringify([await rig.state(), await rig.outbox()])).not.toContain('the-secret-of-the-bus')
})

it('sends the same message as a webhook', async () => {
  const { rig } = await start()
  for (const item of [itemOf(), itemOf({ direction: 'sent', echo: true, snapshot: true, leftFilter: true, before: { type: 'note' } })]) {
    const built = await rig.kind.preview?.(item)
    expect(JSON.parse(built?.body ?? '')).toEqual(JSON.parse(changeMessage(item)))
  }
})
