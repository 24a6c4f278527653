import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createKind } from '../../src/push/kinds/create.ts'
import { itemMaker } from '../../src/push/send/item.ts'
import type { OutboxRow } from '../../src/store/outbox/work.ts'
import { silentLog } from '../tools/databases.ts'
import { outboxRow } from './outbox.ts'
import { startReceiver, takesAll } from './receiver.ts'
import { webhookTo } from './rig.ts'

const message = (direction: string | null, entity = 'thread_messages') => outboxRow({ entity, after: { direction }, direction })

async function pushed(row: OutboxRow) {
  const receiver = await startReceiver(takesAll, { isMadeUp: true })
  const destination = webhookTo(receiver.url)
  const kind = createKind(destination, { clock: systemClock, log: silentLog, proxy: {} })
  try {
    const [outcome] = await kind.send([itemMaker(destination)(row)], new AbortController().signal)
    expect(outcome).toMatchObject({ type: 'delivered' })
  } finally {
    await kind.close()
  }
  return JSON.parse(receiver.arrived[0]?.body ?? '')
}

describe('who wrote a message', () => {
  test('trap 73: is from the side of the brokerage, and its own messages are marked as an echo', async () => {
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
