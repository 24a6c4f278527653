import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import { onSqlite } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'
const HOUR_MS = 3_600_000

/** A time of so many hours ago, as the wire writes it. */
function ago(hours: number): string {
  return new Date(Date.now() - hours * HOUR_MS).toISOString()
}

/** The ways in which records came; whether it was a replay that showed one first is another matter. */
async function arrivals(rig: Rig): Promise<Record<string, string[]>> {
  const noted = rig.db.read.sql.selectFrom('sync_arrivals').select(['record_id', 'way']).where('way', '<>', 'replay')
  const rows = await noted.orderBy('way').execute()
  const ways: Record<string, string[]> = {}
  for (const { record_id, way } of rows) ways[record_id] = [...(ways[record_id] ?? []), way]
  return ways
}

describe.each(onSqlite)('what polling finds by itself on $name', (database) => {
  it('a submission whose history is old is no active one, and is polled as seldom as its age says', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    const newest = ago(24 * 40)
    rig.sandbox.addEvents(ACCOUNT, id, [
      { type: 'market_attached', occurred_at: ago(24 * 50) },
      { type: 'declined', occurred_at: newest },
    ])
    await rig.track([id])
    rig.startPoller()
    await rig.rest()
    const { active_at, due_at } = await rig.read(id, 'events')
    expect(Date.parse(active_at ?? '')).toBe(Date.parse(newest))
    expect(Date.parse(due_at)).toBeGreaterThan(Date.now() + HOUR_MS)
  })

  it('trap 22: a submission first heard of by a webhook has both feeds filled from the beginning, and what is old is backfill', async () => {
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
    const told = rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Told' })
    rig.startPoller()
    rig.startWorker()
    await rig.deliver([{ type: 'submission.message', submission_id: id, message: told }])
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
        [told.id, 'webhook'],
      ]),
    )
    const causes = (await changesOf(rig.db)).filter((change) => change.operation === 'insert')
    const causeOf = (recordId: string | undefined) =>
      causes.filter((change) => change.entity_id.includes(String(recordId))).map((change) => change.cause)
    expect(causeOf(old?.id)).toEqual(['backfill'])
    expect(causeOf(oldMessage.id)).toEqual(['backfill', 'backfill'])
    expect(causeOf(recent?.id)).toEqual(['poll'])
    expect(causeOf(told.id)).toEqual(['webhook'])
    const byReplay = rig.db.read.sql.selectFrom('arrivals').select('record_id').where('known_via', '=', 'replay')
    expect(await byReplay.execute(), 'no second reading was needed').toEqual([])
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ submission_id: id, tracked_via: 'webhook' }])
    expect(rig.asked('events', id)[0]?.has('since')).toBe(false)
    expect(rig.asked('thread', id)[0]?.has('since')).toBe(false)
  })

  it('trap 22: after the first walk what is found is news, however old it says it is', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', occurred_at: ago(48) })
    await rig.track([id])
    rig.startPoller()
    await rig.rest()
    const late = rig.sandbox.addEvent(ACCOUNT, id, { type: 'declined', occurred_at: ago(72) })
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    expect((await rowsOf(rig.db, marketEvents)).find((row) => row['event_id'] === late.id)).toMatchObject({ first_seen_via: 'poll' })
  })

  it('trap 24: what was found by a poll and never pushed can be told from what was', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT)
    const history = rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', occurred_at: ago(48) })
    await rig.track([id])
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    const silent = rig.sandbox.addEvent(ACCOUNT, id, { type: 'declined' })
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
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
    // It comes late, but it does come.
    await rig.deliver([{ type: 'submission.events', submission_id: id, events: [silent] }])
    await rig.rest()
    expect((await arrivals(rig))[silent.id]).toEqual(['feed', 'webhook'])
  })

  it('trap 31: a delivery that was lost is found by the poll', async () => {
    const rig = await Rig.open(database, { sandbox: { faults: [{ kind: 'lose' }] } })
    const id = rig.sandbox.addSubmission(ACCOUNT)
    await rig.track([id])
    rig.startPoller()
    await rig.rest()
    const [event] = rig.sandbox.addEvents(ACCOUNT, id, [{ type: 'quote_received' }])
    const message = rig.sandbox.addMessage(ACCOUNT, id, { body_text: 'Your quote' })
    await rig.pass(policy.poll.activeMs)
    await rig.rest()
    expect(await rowsOf(rig.db, marketEvents)).toMatchObject([{ event_id: event?.id, first_seen_via: 'poll' }])
    expect(await rowsOf(rig.db, threadMessages)).toMatchObject([{ message_id: message.id, first_seen_via: 'poll' }])
  })

  it('a message that a webhook brought is no news to the poll that follows', async () => {
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
    rig.startPoller()
    await rig.rest()
    expect([rig.asked('events', id).length, rig.asked('thread', id).length]).toEqual([events + 1, thread + 1])
    expect((await changesOf(rig.db)).slice(before)).toEqual([])
  })
})
