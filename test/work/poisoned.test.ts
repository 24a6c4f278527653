import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import type { InboxTable } from '../../src/store/schema/inbox.ts'
import type { Columns } from '../../src/store/schema/tables.ts'
import { testDatabases } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { uuid, wireMessage } from '../tools/observations.ts'
import { poison } from '../tools/poison.ts'
import { Rig } from '../tools/poller.ts'

const ID = uuid(9, 1)
const MAX_ATTEMPTS = 10

function messageOf(n: number): unknown {
  return { type: 'submission.message', submission_id: ID, message: wireMessage(n) }
}

async function inbox(rig: Rig): Promise<Pick<InboxTable, 'delivery_id' | 'state' | 'attempts' | 'error' | 'available_at'>[]> {
  return rig.db.read.all(sql<Columns<'sync_inbox', 'delivery_id' | 'state' | 'attempts' | 'error' | 'available_at'>>`
    select delivery_id, state, attempts, error, available_at from sync_inbox order by inbox_id`)
}

describe.each(testDatabases)('trap 30: a delivery that cannot be applied on $name', (database) => {
  it('trap 30: is set back alone; its companions are applied, and it is tried again with backoff', async () => {
    const rig = await Rig.open(database)
    const cure = await poison(rig.db, 'thread_messages', 'message_id', uuid(2, 3))
    await rig.deliver(
      Array.from({ length: 8 }, (_, n) => messageOf(n)),
      { ids: Array.from({ length: 8 }, (_, n) => `msg_${n}`) },
    )
    const begunAt = Date.now()
    rig.startWorker()
    await rig.until('the others are applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 7)
    await rig.until('it is set back', () => rig.counted('deliveries_settled_total', { state: 'retry' }) === 1)
    expect((await rowsOf(rig.db, threadMessages)).map((row) => row['message_id'])).not.toContain(uuid(2, 3))
    const [poisoned] = (await inbox(rig)).filter((row) => row.state === 'ready')
    expect(poisoned).toMatchObject({ delivery_id: 'msg_3', attempts: 1, error: expect.stringContaining('poisoned') })
    expect(Date.parse(poisoned?.available_at ?? '')).toBeGreaterThan(begunAt + 2_000)
    const changes = await changesOf(rig.db)
    expect(changes.map((change) => change.seq)).toEqual(changes.map((_, index) => index + 1))
    await cure()
    await rig.pass(3_600_000)
    await rig.until('it is applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 8)
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(8)
    expect((await inbox(rig))[3]).toMatchObject({ state: 'done', attempts: 2, error: null })
  })

  it('trap 30: is dead after its last attempt, blocks no other, and is ready again when it is replayed', async () => {
    const rig = await Rig.open(database)
    const cure = await poison(rig.db, 'thread_messages', 'message_id', uuid(2, 1))
    await rig.deliver([messageOf(1)], { ids: ['msg_1'] })
    rig.startWorker()
    for (let attempt = 1; attempt < MAX_ATTEMPTS; attempt++) {
      await rig.until(`try ${attempt} is over`, () => rig.counted('deliveries_settled_total', { state: 'retry' }) === attempt)
      await rig.pass(7_200_000)
    }
    await rig.until('it is dead', () => rig.counted('deliveries_settled_total', { state: 'dead' }) === 1)
    expect(await inbox(rig)).toMatchObject([{ state: 'dead', attempts: MAX_ATTEMPTS, error: expect.stringContaining('poisoned') }])
    expect(rig.logged('and is dead-lettered; run')).toBe(true)
    await rig.deliver([messageOf(2)], { ids: ['msg_2'] })
    await rig.until('the next is applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 1)
    await rig.pass(86_400_000)
    expect(await inbox(rig)).toMatchObject([{ state: 'dead', attempts: MAX_ATTEMPTS }, { state: 'done' }])
    await cure()
    await rig.deliver([messageOf(1)], { ids: ['msg_1'] })
    await rig.until('it is applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 2)
    expect(await inbox(rig)).toMatchObject([{ delivery_id: 'msg_1', state: 'done', error: null }, { delivery_id: 'msg_2' }])
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(2)
  })
})
