import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import { onSqlite } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'
const HOUR_MS = 3_600_000

function ago(hours: number): string {
  return new Date(Date.now() - hours * HOUR_MS).toISOString()
}

/** How records arrived, ignoring full re-reads. */
async function arrivals(rig: Rig): Promise<Record<string, string[]>> {
  const noted = rig.db.read.sql.selectFrom('sync_arrivals').select(['record_id', 'way']).where('way', '<>', 'full_read')
  const rows = await noted.orderBy('way').execute()
  const ways: Record<string, string[]> = {}
  for (const { record_id, way } of rows) ways[record_id] = [...(ways[record_id] ?? []), way]
  return ways
}

describe.each(onSqlite)('records found by polling on $name', (database) => {
  it('a submission with old history is polled by its age', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    const newest = ago(24 * 40)
    rig.sandbox.addEvents(ACCOUNT, id, [
      { type: 'market_attached', occurred_at: ago(24 * 50) },
      { type: 'declined', occurred_at: newest },
    ])
    await rig.track([id])
    await rig.poll()
    const { active_at, due_at } = await rig.read(id, 'events')
    expect(Date.parse(active_at ?? '')).toBe(Date.parse(newest))
    expect(Date.parse(due_at ?? '')).toBeGreaterThan(Date.now() + HOUR_MS)
  })

  it('trap 22: a submission first named by a webhook gets both feeds from the beginning, as backfill', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    const [old, recent] = rig.sandbox.addEvents(ACCOUNT, id, [
      { type: 'market_attached', occurred_at: ago(48) },
      { type: 'declined', occurred_at: ago(0.5) },
    ])
    const oldMessage = rig.sandbox.addMessage(ACCOUNT, id, {
      body_text: 'Old',
      occurred_at: ago(30),
      attachments: [{ name: 'a.pdf', download_path: null }],
    })
    const announced = rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Announced' })
    rig.startPoller()
    rig.startWorker()
    await rig.deliver([{ type: 'submission.message', submission_id: id, message: announced }])
    await rig.rest()
    const via = new Map(
      [...(await rowsOf(rig.db, marketEvents)), ...(await rowsOf(rig.db, threadMessages))].map((row) => [
        row['event_id'] ?? row['message_id'],
        row['first_seen_via'],
      ]),
    )
    expect(via).toEqual(
      new Map([
        [old?.id, 'backfill'],
        [recent?.id, 'poll'],
        [oldMessage.id, 'backfill'],
        [announced.id, 'webhook'],
      ]),
    )
    const causes = (await changesOf(rig.db)).filter((change) => change.operation === 'insert')
    const causeOf = (recordId: string | undefined) =>
      causes.filter((change) => change.entity_id.includes(String(recordId))).map((change) => change.cause)
    expect(causeOf(old?.id)).toEqual(['backfill'])
    expect(causeOf(oldMessage.id)).toEqual(['backfill', 'backfill'])
    expect(causeOf(recent?.id)).toEqual(['poll'])
    expect(causeOf(announced.id)).toEqual(['webhook'])
    const byFullRead = rig.db.read.sql.selectFrom('arrivals').select('record_id').where('known_via', '=', 'full_read')
    expect(await byFullRead.execute(), 'no second reading was needed').toEqual([])
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ submission_id: id, tracked_via: 'webhook' }])
    expect(rig.asked('events', id)[0]?.has('since')).toBe(false)
    expect(rig.asked('thread', id)[0]?.has('since')).toBe(false)
  })

  it('trap 22: after the first feed read, found records are new, regardless of their age', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', occurred_at: ago(48) })
    await rig.track([id])
    await rig.poll()
    const late = rig.sandbox.addEvent(ACCOUNT, id, { type: 'declined', occurred_at: ago(72) })
    await rig.passAndRest(policy.poll.maxMs)
    expect((await rowsOf(rig.db, marketEvents)).find((row) => row['event_id'] === late.id)).toMatchObject({ first_seen_via: 'poll' })
  })

  it('trap 24: records found by polling and never delivered are distinguishable', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    const history = rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', occurred_at: ago(48) })
    await rig.track([id])
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    const silent = rig.sandbox.addEvent(ACCOUNT, id, { type: 'declined' })
    await rig.passAndRest(policy.poll.maxMs)
    const pushed = rig.sandbox.addEvent(ACCOUNT, id, { type: 'quote_received' })
    await rig.deliver([{ type: 'submission.events', submission_id: id, events: [pushed] }])
    await rig.rest()
    await rig.deliver([{ type: 'submission.events', submission_id: id, events: [pushed] }])
    await rig.rest()
    const seen = new Map((await rowsOf(rig.db, marketEvents)).map((row) => [row['event_id'], row['first_seen_via']]))
    expect(seen).toEqual(
      new Map([
        [history.id, 'backfill'],
        [silent.id, 'poll'],
        [pushed.id, 'webhook'],
      ]),
    )
    expect(await arrivals(rig)).toEqual({ [silent.id]: ['feed'] })
    await rig.deliver([{ type: 'submission.events', submission_id: id, events: [silent] }])
    await rig.rest()
    expect((await arrivals(rig))[silent.id]).toEqual(['feed', 'webhook'])
  })

  it('trap 31: polling finds a lost delivery', async () => {
    const rig = await Rig.open(database, { sandbox: { faults: [{ kind: 'lose' }] } })
    const id = rig.sandbox.addSubmission(ACCOUNT)
    await rig.track([id])
    await rig.poll()
    const [event] = rig.sandbox.addEvents(ACCOUNT, id, [{ type: 'quote_received' }])
    const message = rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Your quote' })
    await rig.passAndRest(policy.poll.activeMs)
    expect(await rowsOf(rig.db, marketEvents)).toMatchObject([{ event_id: event?.id, first_seen_via: 'poll' }])
    expect(await rowsOf(rig.db, threadMessages)).toMatchObject([{ message_id: message.id, first_seen_via: 'poll' }])
  })

  it('polling after a delivered message finds nothing new', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    await rig.track([id])
    const poller = rig.startPoller()
    rig.startWorker()
    await rig.rest()
    await poller.stop()
    const message = rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Text', attachments: [{ name: 'a.pdf', download_path: null }] })
    const event = rig.sandbox.addEvent(ACCOUNT, id, { type: 'quote_received' })
    await rig.deliver([
      { type: 'submission.message', submission_id: id, message },
      { type: 'submission.events', submission_id: id, events: [event] },
    ])
    await rig.until('both are applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 2)
    const before = (await changesOf(rig.db)).length
    const [events, thread] = [rig.asked('events', id).length, rig.asked('thread', id).length]
    await rig.poll()
    expect([rig.asked('events', id).length, rig.asked('thread', id).length]).toEqual([events + 1, thread + 1])
    expect((await changesOf(rig.db)).slice(before)).toEqual([])
  })
})
