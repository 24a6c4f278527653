import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { decodeCursor, encodeCursor } from '../../../src/sandbox/world/cursor.ts'
import { Feed } from '../../../src/sandbox/world/feeds.ts'
import { Client, replyOf, sandboxFor } from '../support.ts'

async function filled(
  events: number,
  messages: number,
  options = {},
): Promise<{ sandbox: Sandbox; client: Client; id: string; ids: string[] }> {
  const sandbox = await sandboxFor(options)
  const id = sandbox.addSubmission('default')
  sandbox.fillFeeds('default', id, { events, messages })
  const client = await new Client(sandbox).login()
  return { sandbox, client, id, ids: sandbox.truth('default', id)[0]?.events.map((event) => event.id) ?? [] }
}

test('a feed is read oldest first, page by page, until the cursor is null', async () => {
  const { client, id, ids } = await filled(120, 0)
  const first = await client.page('events', id)
  expect(first.ids).toEqual(ids.slice(0, 50))
  const second = await client.page('events', id, { since: first.next ?? '' })
  expect(second.ids).toEqual(ids.slice(50, 100))
  const third = await client.page('events', id, { since: second.next ?? '' })
  expect(third).toMatchObject({ ids: ids.slice(100), next: null })
})

test('limits are clamped to 1 to 100 and 1 to 200, and must be numbers', async () => {
  const { client, id } = await filled(250, 250)
  const sizes = async (feed: 'events' | 'thread') =>
    Promise.all(['-3', '0', '1', '100', '101', '5000'].map(async (limit) => (await client.page(feed, id, { limit })).ids.length))
  expect(await sizes('events')).toEqual([1, 1, 1, 100, 100, 100])
  expect(await sizes('thread')).toEqual([1, 1, 1, 100, 101, 200])
  expect((await client.page('thread', id)).ids).toHaveLength(50)
  expect((await client.page('events', id, { limit: 'many' })).status).toBe(422)
})

test('an empty since means the beginning, and a full last page ends the stream', async () => {
  const { client, id, ids } = await filled(100, 0)
  expect(await client.page('events', id, { since: '', limit: '100' })).toMatchObject({ ids, next: null })
})

test('an empty feed is one empty page', async () => {
  const { client, id } = await filled(0, 0)
  expect(await client.page('events', id)).toMatchObject({ status: 200, ids: [], next: null })
})

test('trap 05: a cursor contains + / = and is invalid without percent-encoding', async () => {
  const { client, id, ids } = await filled(60, 60)
  const cursor = (await client.page('events', id)).next ?? ''
  for (const sign of ['+', '/', '=']) expect(cursor).toContain(sign)
  expect((await client.get(`/broker/submissions/${id}/events?since=${cursor}`)).status).toBe(400)
  expect((await client.page('events', id, { since: cursor })).ids).toEqual(ids.slice(50))
})

test('unknown cursors and those of other feeds or submissions get 400 with detail', async () => {
  const { sandbox, client, id } = await filled(60, 60)
  const other = sandbox.addSubmission('default')
  const cursor = (await client.page('events', id)).next ?? ''
  for (const since of ['null', 'undefined', 'bm9uc2Vuc2U=']) {
    const answer = await client.get(`/broker/submissions/${id}/events?since=${encodeURIComponent(since)}`)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toHaveProperty('detail')
  }
  expect((await client.page('thread', id, { since: cursor })).status).toBe(400)
  expect((await client.page('events', other, { since: cursor })).status).toBe(400)
})

test('trap 08: items that appear behind a cursor are found only from the beginning', async () => {
  const sandbox = await sandboxFor()
  const id = sandbox.addSubmission('default')
  const client = await new Client(sandbox).login()
  const late = sandbox.addLane('default', id, { hidden: true }).rail.submission_market_id
  const attached = sandbox.addEvent('default', id, { type: 'market_attached', lane_id: late })
  const seen = [1, 2, 3].map(() => sandbox.addEvent('default', id, { type: 'status_changed' }).id)
  const cursor = (await client.page('events', id, { limit: '2' })).next ?? ''
  expect((await client.readFeed('events', id)).ids).toEqual(seen)
  expect((await requirements(client, id)).rail?.lanes).toEqual([])

  sandbox.revealLane('default', id, late)
  const quoted = sandbox.addEvent('default', id, { type: 'quote_received', lane_id: late }).id
  expect((await client.readFeed('events', id, { since: cursor })).ids).toEqual([seen[2], quoted])
  expect((await client.readFeed('events', id)).ids).toEqual([attached.id, ...seen, quoted])
  expect((await requirements(client, id)).rail?.lanes).toMatchObject([{ submission_market_id: late }])
})

test('an item can appear long after it occurred, and disappear again', async () => {
  const sandbox = await sandboxFor()
  const id = sandbox.addSubmission('default')
  const client = await new Client(sandbox).login()
  const [relayed, open] = sandbox.addEvents('default', id, [{ type: 'quote_received' }, { type: 'declined' }]).map((event) => event.id)
  sandbox.concealItems('default', id, [relayed ?? ''])
  expect((await client.readFeed('events', id)).ids).toEqual([open])
  sandbox.showItems('default', id, [relayed ?? ''])
  expect((await client.readFeed('events', id)).ids).toEqual([relayed, open])
})

test('short and empty pages with a cursor lose and repeat nothing, and end', async () => {
  const { sandbox, client, id, ids } = await filled(40, 0)
  sandbox.faults.set([{ kind: 'short_page' }, { kind: 'empty_page' }])
  const feedRead = await client.readFeed('events', id)
  expect(feedRead.ids).toEqual(ids)
  expect(feedRead.pages).toBeGreaterThan(4)
  expect(await client.page('events', id, { since: feedRead.cursor ?? '' })).toMatchObject({ ids: [], next: null })
})

test('a stuck cursor is an empty page with the same cursor', async () => {
  const { sandbox, client, id } = await filled(60, 0)
  const cursor = (await client.page('events', id)).next ?? ''
  sandbox.faults.set([{ kind: 'stuck_cursor', count: 2 }])
  expect(await client.page('events', id, { since: cursor })).toMatchObject({ ids: [], next: cursor })
  const fromStart = await client.page('events', id)
  expect(fromStart.ids).toEqual([])
  expect((await client.page('events', id, { since: fromStart.next ?? '' })).ids).toHaveLength(50)
})

test('a valid cursor can be refused; a read without one cannot', async () => {
  const { sandbox, client, id } = await filled(60, 0)
  const cursor = (await client.page('events', id)).next ?? ''
  sandbox.faults.set([{ kind: 'invalid_cursor' }])
  expect((await client.page('events', id, { since: cursor })).status).toBe(400)
  expect((await client.page('events', id)).status).toBe(200)
})

test('data of other brokerages and unknown ids are not found', async () => {
  const sandbox = await sandboxFor({ accounts: [{ name: 'acme' }, { name: 'zenith' }] })
  const shared = sandbox.addSubmission('acme')
  const foreign = sandbox.addSubmission('zenith')
  sandbox.addSubmission('zenith', { submissionId: shared, facts: { insured_name: 'Same id, other brokerage' } })
  const client = await new Client(sandbox, 'acme').login()
  for (const read of ['events', 'thread', 'requirements']) {
    expect((await client.get(`/broker/submissions/${shared}/${read}`)).status).toBe(200)
    expect((await client.get(`/broker/submissions/${foreign}/${read}`)).status).toBe(404)
    expect((await client.get(`/broker/submissions/${crypto.randomUUID()}/${read}`)).status).toBe(404)
    expect((await client.get(`/broker/submissions/nonsense/${read}`)).status).toBe(422)
  }
  expect((await requirements(client, shared)).insured_name).not.toBe('Same id, other brokerage')
  sandbox.world.removeSubmission('acme', shared)
  expect((await client.page('events', shared)).status).toBe(404)
})

test('any two feed reads, with any limits, agree with the visible history', () => {
  const item = fc.record({ second: fc.integer({ min: 0, max: 20 }), visible: fc.boolean(), id: fc.uuid() })
  const items = fc.uniqueArray(item, { selector: ({ id }) => id, maxLength: 40, size: 'max' })
  fc.assert(
    fc.property(items, fc.integer({ min: 1, max: 7 }), (chosen, limit) => {
      const feed = new Feed<{ id: string; occurred_at: string }>()
      for (const { id, second, visible } of chosen) feed.add({ id, occurred_at: timeFromMs(second * 1_000) }, visible)
      const read: string[] = []
      let since = { time: '', id: '' }
      for (let more = true; more; ) {
        const slice = feed.after(since, limit)
        read.push(...slice.items.map(({ id }) => id))
        since = decodeCursor('s', encodeCursor('s', { position: slice.end, emptyPages: 0 }))?.position ?? { time: '', id: '' }
        more = slice.more
      }
      const expected = chosen.filter(({ visible }) => visible).sort((a, b) => a.second - b.second || (a.id < b.id ? -1 : 1))
      expect(read).toEqual(expected.map(({ id }) => id))
    }),
  )
})

const requirements = async (client: Client, id: string) => (await replyOf(client.get(`/broker/submissions/${id}/requirements`))).body
