import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Db } from '../../src/store/engine/db.ts'
import type { OutboxEntry } from '../../src/store/outbox/queries.ts'
import { startKafkaRest } from '../emulators/kafka-rest.ts'
import type { EmulatorServer } from '../emulators/server.ts'
import { startServiceBus } from '../emulators/service-bus.ts'
import { startSqs } from '../emulators/sqs.ts'
import { outboxFor } from '../push/outbox-states.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { writeSettings } from '../tools/settings-file.ts'
import { until } from '../tools/until.ts'
import { accountEnv, databaseEnv, type Environment, startServe } from './serve.ts'

const ACCOUNT = 'default'
const SUBMISSIONS = 3
const MESSAGES = 8
const SECRET = 'the-secret-of-the-bus'

/** A target of changes, whose sender is killed. */
interface Bus {
  readonly name: string
  /** false: it may contain duplicates. */
  readonly isOnce: boolean
  start(): Promise<{ readonly server: EmulatorServer; readonly settings: object; readonly env: Environment; arrived(): readonly Arrived[] }>
}

/** A message in its group or session, or with the key of its submission. */
interface Arrived {
  readonly id: string | undefined
  readonly of: string | null
}

const buses: readonly Bus[] = [
  {
    name: 'Amazon SQS (FIFO)',
    isOnce: true,
    async start() {
      const server = await startSqs({ accessKeyId: 'AKIDOFTHETEST', secretAccessKey: SECRET, queue: 'changes.fifo' })
      const key = { access_key_id: 'AKIDOFTHETEST', secret_access_key: `\${BUS_SECRET}` }
      return {
        server,
        settings: { kind: 'queue', queue: { type: 'sqs', url: server.queueUrl, region: 'eu-central-1', ...key } },
        env: { BUS_SECRET: SECRET },
        arrived: () => server.messages.map(({ attributes, group }) => ({ id: attributes['message-id'], of: group })),
      }
    },
  },
  {
    name: 'Azure Service Bus',
    isOnce: true,
    async start() {
      const server = await startServiceBus({ clientId: 'the-app', clientSecret: SECRET })
      const near = { settings: { base_url: server.url }, auth: { token_url: `${server.url}/token` } }
      return {
        server,
        settings: { preset: 'azure-service-bus', ...near },
        env: {
          SERVICE_BUS_HOST: 'acme.servicebus.windows.net',
          SERVICE_BUS_QUEUE: 'changes',
          SERVICE_BUS_TENANT: 'the-tenant',
          SERVICE_BUS_CLIENT_ID: 'the-app',
          SERVICE_BUS_CLIENT_SECRET: SECRET,
        },
        arrived: () => server.messages.map(({ id, session }) => ({ id, of: session })),
      }
    },
  },
  {
    name: 'Kafka, by Confluent’s REST API',
    isOnce: false,
    async start() {
      const server = await startKafkaRest({ user: 'the-key', password: SECRET })
      return {
        server,
        settings: { preset: 'kafka-rest', settings: { base_url: `${server.url}/kafka` } },
        env: {
          KAFKA_REST_HOST: 'kafka.test',
          KAFKA_CLUSTER: 'lkc-1',
          KAFKA_TOPIC: 'changes',
          KAFKA_REST_USER: 'the-key',
          KAFKA_REST_PASSWORD: SECRET,
        },
        arrived: () => server.records.map(({ headers, key }) => ({ id: headers['message-id'], of: key })),
      }
    },
  },
]

it.each(buses)('$name has each change once per id, in order, despite kills of the program', async ({ start, isOnce }) => {
  const { server, settings, env, arrived } = await start()
  onTestFinished(() => server.close())
  const sandbox = await closedAtEnd(
    startSandbox({ submissions: 0, autoStart: false, retryScheduleMs: Array.from({ length: 100 }, () => 250) }),
  )
  const opened = await closedAtEnd(sqliteDatabase.open())
  const common = {
    name: 'bus',
    entities: ['thread_messages'],
    allow_private: true,
    allow_hosts: ['127.0.0.1'],
    schedule: Array(20).fill('100ms'),
  }
  const path = join(opened.config.kind === 'sqlite' ? `${opened.config.path}.yaml` : '')
  writeSettings(path, { destinations: [{ ...common, timeout: '1m', ...settings }] })
  const all = { ...accountEnv(sandbox), ...databaseEnv(opened.config), ...env, CONFIG_FILE: path }

  const submissions = Array.from({ length: SUBMISSIONS }, () => sandbox.addSubmission(ACCOUNT))
  let running = await startServe(all)
  for (const kills of [0, 1, 2]) {
    sandbox.account(ACCOUNT).target = `${running.receiver}/webhooks/${ACCOUNT}`
    // The last message in flight is stored without an answer at the kill.
    if (kills < 2) server.fail('take', 'take', 'hang')
    for (let n = 0; n < MESSAGES; n += 1)
      for (const id of submissions) sandbox.addMessage(ACCOUNT, id, { body_text: `Message ${kills}-${n}` })
    if (kills === 2) break
    await until('one was taken without an answer', () => server.left() === 0)
    await running.kill()
    running = await startServe(all)
  }
  onTestFinished(() => running.kill())

  const rows = await untilDelivered(opened.db, SUBMISSIONS * MESSAGES * 3)
  const ids = arrived().map(({ id }) => id)
  if (isOnce) expect(ids).toHaveLength(rows.length)
  else expect(ids.length).toBeGreaterThan(rows.length)
  for (const submission of submissions) {
    const sent = rows.filter(({ submission_id: id }) => id === submission).map(({ message_id: id }) => id)
    const got = arrived().flatMap(({ id, of }) => (of === `${ACCOUNT}/${submission}` ? [id] : []))
    // The first of duplicates counts.
    expect([...new Set(got)]).toEqual(sent)
  }
})

/** The outbox rows, oldest first, once all are delivered. */
async function untilDelivered(db: Db, count: number): Promise<readonly OutboxEntry[]> {
  return await until('all are delivered', async () => {
    const rows = await outboxFor(db, 'bus')
    return rows.length === count && rows.every(({ state }) => state === 'delivered') && rows
  })
}
