import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { Secret } from '../../src/base/secret.ts'
import type { WebhookDestination } from '../../src/config/config.ts'
import type { TimeText } from '../../src/model/time.ts'
import { createKind } from '../../src/push/kinds/create.ts'
import { itemMaker } from '../../src/push/send/item.ts'
import type { OutboxRow } from '../../src/store/outbox/work.ts'
import { silentLog } from '../tools/databases.ts'
import { commonSettings } from './common-settings.ts'

const received: { brokerage?: { direction: string; echo: boolean }; data: { after: { direction: string } } }[] = []
const server = createServer(async (request, response) => {
  received.push(JSON.parse(await text(request)) as (typeof received)[number])
  response.writeHead(204).end()
})
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => void server.close())

const at = '2026-11-21T12:00:00.000000Z' as TimeText

function message(direction: string | null, entity = 'thread_messages'): OutboxRow {
  return {
    outboxId: 1,
    messageId: 'b7c0a3c6-9d1c-5a3e-8a63-0a7c5c1f5a11',
    account: 'default',
    submissionId: 's',
    entity,
    entityId: '["s","m"]',
    operation: 'insert',
    cause: 'webhook',
    seq: 7,
    snapshot: false,
    changedAt: at,
    before: null,
    after: { direction },
    afterText: null,
    attempts: 0,
    progress: null,
    status: null,
    leftFilter: false,
    uncertain: false,
    triedAt: null,
    resent: null,
    remoteId: null,
    mapping: null,
    submission: null,
    direction,
  }
}

/** What the AMS gets of a message. */
async function pushed(row: OutboxRow) {
  const { port } = server.address() as AddressInfo
  const destination: WebhookDestination = {
    ...commonSettings,
    name: 'ams',
    kind: 'webhook',
    url: `http://127.0.0.1:${port}/`,
    accounts: ['default'],
    timeoutMs: 5_000,
    scheduleMs: [1_000],
    concurrency: 1,
    idempotent: true,
    tls: null,
    secrets: [new Secret(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)],
  }
  const kind = createKind(destination, { clock: systemClock, log: silentLog, proxy: {} })
  try {
    const [outcome] = await kind.send([itemMaker(destination)(row)], new AbortController().signal)
    expect(outcome).toMatchObject({ type: 'delivered' })
  } finally {
    await kind.close()
  }
  return received.at(-1)
}

describe('who wrote a message', () => {
  test('trap 73: is told from the side of the brokerage, and what it wrote itself is marked as an echo', async () => {
    // The service's words stand where its row does; the brokerage's own stand apart.
    expect(await pushed(message('inbound'))).toMatchObject({
      brokerage: { direction: 'sent', echo: true },
      data: { after: { direction: 'inbound' } },
    })
    expect(await pushed(message('outbound'))).toMatchObject({
      brokerage: { direction: 'received', echo: false },
      data: { after: { direction: 'outbound' } },
    })
  })

  test('is not made up where the service says nothing of it', async () => {
    expect(await pushed(message('sideways'))).not.toHaveProperty('brokerage')
    expect(await pushed(message(null, 'market_events'))).not.toHaveProperty('brokerage')
  })
})
