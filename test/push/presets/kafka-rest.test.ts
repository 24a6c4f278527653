import { expect, it } from 'vitest'
import { changeMessage } from '../../../src/push/contract/change-message.ts'
import { type KafkaRestEmulator, startKafkaRest } from '../../emulators/kafka-rest.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { itemOf } from '../http/support.ts'
import { ACCOUNT, event, message, PushRig, SUBMISSION } from './rig.ts'

const ENV = {
  KAFKA_REST_HOST: 'pkc-1.eu-central-1.aws.confluent.cloud',
  KAFKA_CLUSTER: 'lkc-1',
  KAFKA_TOPIC: 'changes',
  KAFKA_REST_USER: 'the-key',
  KAFKA_REST_PASSWORD: 'the-secret-of-kafka',
  SHUTDOWN_GRACE: '1s',
}

async function start(): Promise<{ target: KafkaRestEmulator; rig: PushRig }> {
  const target = await closedAtEnd(startKafkaRest({ user: 'the-key', password: 'the-secret-of-kafka' }))
  const near = `settings: { base_url: "${target.url}/kafka" }, allow_private: true, allow_hosts: [127.0.0.1]`
  const patient = `schedule: [${Array(10).fill('50ms').join()}], timeout: 3s, entities: [market_events, thread_messages]`
  const rig = await PushRig.running(sqliteDatabase, `{ name: kafka, preset: kafka-rest, ${near}, ${patient} }`, ENV)
  return { target, rig }
}

it('makes a record of each change: the submission its key, our id a header, a webhook’s body its value', async () => {
  const { target, rig } = await start()
  await rig.apply(event(1, { detail: 'Jane called' }), message(2, { direction: 'inbound' }))
  const rows = await rig.becomes('delivered', 'delivered')
  expect(target.records).toMatchObject([
    {
      key: `${ACCOUNT}/${SUBMISSION}`,
      headers: { 'message-id': rows[0]?.message_id },
      value: { type: 'market_events.insert', data: { seq: rows[0]?.seq, submission_id: SUBMISSION, operation: 'insert', before: null } },
    },
    { headers: { 'message-id': rows[1]?.message_id }, value: { brokerage: { direction: 'sent', echo: true } } },
  ])
  expect(rows.map(({ remote_id: id }) => id)).toEqual(['changes/0/0', 'changes/0/1'])
  expect(JSON.stringify(target.records)).not.toMatch(/Jane|Text of message/)
})

it('has each record at least once under one id, in order, despite any faults', async () => {
  const { target, rig } = await start()
  target.fail('lose', 'take', 'drop', 'take', 'hang', 'take', 'refuse', 'busy', 'fall', 'page', 'take')
  for (let n = 1; n <= 8; n += 1) await rig.apply(event(n))
  const rows = await rig.becomes(...Array<string>(8).fill('delivered'))
  expect(target.left()).toBe(0)
  // What was stored and not answered, three times, is stored again.
  expect(target.records).toHaveLength(8 + 3)
  const ids = target.records.map(({ headers }) => headers['message-id'])
  expect([...new Set(ids)]).toEqual(rows.map(({ message_id: id }) => id))
})

it('judges a record by its own code, also in a 200', async () => {
  const { target, rig } = await start()
  target.codes.push(429, 50_003, 40_002)
  await rig.apply(event(1), event(2))
  const rows = await rig.becomes('dead', 'delivered')
  expect(rows.map(({ attempts }) => attempts)).toEqual([2, 1])
  expect(rows[0]?.error).toContain('40002: as the test wants it')
})

it('is suspended when the user has lost all rights, and reports it by a probe', async () => {
  const { target, rig } = await start()
  const { signal } = new AbortController()
  expect(await rig.kind.probe(signal)).toMatchObject({ ok: true })
  target.allowed = false
  expect(await rig.kind.probe(signal)).toMatchObject({ ok: false })
  await rig.apply(event(1))
  await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
  expect(JSON.stringify([await rig.state(), await rig.outbox()])).not.toContain('the-secret-of-kafka')
})

it('sends the same message as a webhook', async () => {
  const { rig } = await start()
  for (const item of [itemOf(), itemOf({ direction: 'sent', echo: true, snapshot: true, leftFilter: true, before: { type: 'note' } })]) {
    const built = await rig.kind.preview?.(item)
    expect(JSON.parse(built?.body ?? '').value.data).toEqual(JSON.parse(changeMessage(item)))
  }
})
