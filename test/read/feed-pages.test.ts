import { describe, expect, it } from 'vitest'
import type { Applied } from '../../src/apply/apply.ts'
import { type FeedPage, type FeedRead, type FeedReadEnd, readFeedPages } from '../../src/read/feed-pages.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { at, byPoll, uuid, wireEvent } from '../tools/observations.ts'
import { clientOf, json, type Service, startService, thrownBy, withTokens } from '../upstream/service.ts'

const SUBMISSION = uuid(9, 1)
const feedRead: FeedRead = { account: 'acme', submissionId: SUBMISSION, read: 'events', since: null, ...byPoll }

type Pages = Readonly<Record<string, readonly [items: readonly unknown[], next: string | null]>>

let service: Service
let client: UpstreamClient

async function serve(pages: Pages): Promise<void> {
  service = await startService(
    withTokens((request, response) => {
      const since = new URL(request.url, service.baseUrl).searchParams.get('since') ?? ''
      const [events, next_cursor] = pages[since] ?? [[], null]
      json(response, { events, next_cursor })
    }),
  )
  client = clientOf(service)
}

interface Committed {
  readonly ids: string[]
  readonly cursor: string | null
  readonly ended: string | null
}

async function committedBy(commit: (page: FeedPage) => Promise<void> = async () => {}): Promise<Committed[]> {
  const committed: Committed[] = []
  const keep = async (page: FeedPage, end: FeedReadEnd | null): Promise<Applied> => {
    await commit(page)
    const ids = page.observations.map((observation) => (observation.kind === 'event' ? observation.event.event_id : ''))
    committed.push({ ids, cursor: page.nextCursor, ended: end === null ? null : (end.stall?.reason ?? 'complete') })
    return { inserted: page.observations.length, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() }
  }
  await readFeedPages(client, feedRead, keep, new AbortController().signal)
  return committed
}

const event = (n: number) => wireEvent(n)
const SAME = 'the service returned the same cursor again and nothing after it'

describe('reading a feed page by page', () => {
  it('trap 01: continues over short and empty pages until the cursor is null, and commits in order', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[], 'b'], b: [[event(2), event(3)], 'c'], c: [[], null] })
    expect(await committedBy()).toEqual([
      { ids: [uuid(1, 1)], cursor: 'a', ended: null },
      { ids: [], cursor: 'b', ended: null },
      { ids: [uuid(1, 2), uuid(1, 3)], cursor: 'c', ended: null },
      { ids: [], cursor: null, ended: 'complete' },
    ])
  })

  it('trap 02: ends at a repeated cursor', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[], 'a'] })
    expect((await committedBy()).at(-1)).toEqual({ ids: [], cursor: 'a', ended: SAME })
    expect(service.to('/events')).toHaveLength(2)
  })

  it('trap 02: ends at a loop of empty pages', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[], 'b'], b: [[], 'c'], c: [[], 'a'] })
    expect((await committedBy()).at(-1)).toEqual({ ids: [], cursor: 'a', ended: SAME })
    expect(service.to('/events')).toHaveLength(4)
  })

  it('trap 02: ends at an empty cursor, which would restart the feed, and does not return it', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[event(2)], ''] })
    expect((await committedBy()).at(-1)).toEqual({ ids: [uuid(1, 2)], cursor: null, ended: 'the service returned an empty cursor' })
  })

  it('trap 02: ends after 200 consecutive empty pages with new cursors, and keeps the last one', async () => {
    const next = (n: number): Pages => ({ [n === 0 ? '' : `c${n}`]: [n === 50 ? [event(1)] : [], `c${n + 1}`] })
    await serve(Object.assign({}, ...Array.from({ length: 400 }, (_, n) => next(n))))
    const committed = await committedBy()
    expect(committed).toHaveLength(251)
    expect(committed.at(-1)).toMatchObject({
      cursor: 'c251',
      ended: 'the service returned 200 empty pages in a row, each with a new cursor',
    })
  })

  it('trap 03: treats a page without next_cursor as an unconfirmed end', async () => {
    service = await startService(withTokens((_, response) => json(response, { events: [event(1)] })))
    client = clientOf(service)
    const commit = async (): Promise<Applied> => ({ inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() })
    const end = await readFeedPages(client, feedRead, commit, new AbortController().signal)
    expect(end).toMatchObject({ stall: null, isEndConfirmed: false, pages: 1 })
  })

  it("returns the newest item's time, from any page", async () => {
    const untimed = { ...event(4), occurred_at: 'never' }
    await serve({ '': [[event(2), event(3), event(1)], 'a'], a: [[], 'b'], b: [[event(2), untimed], null] })
    const commit = async (): Promise<Applied> => ({ inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() })
    const end = await readFeedPages(client, feedRead, commit, new AbortController().signal)
    expect(end.newestAt).toBe(at(3).replace('Z', '000Z'))
  })

  it('trap 04: sends no cursor for the beginning', async () => {
    await serve({ '': [[], null] })
    await committedBy()
    expect(service.to('/events')[0]?.url).not.toContain('since')
  })

  it('stores malformed items, and reads the others', async () => {
    await serve({ '': [[event(1), { id: 'no uuid' }, 'no object', event(2)], null] })
    const unreadable: string[] = []
    const committed = await committedBy(async (page) => {
      unreadable.push(...page.unreadable.map((item) => item.raw))
    })
    expect(committed[0]?.ids).toEqual([uuid(1, 1), uuid(1, 2)])
    expect(unreadable).toEqual(['{"id":"no uuid"}', '"no object"'])
  })

  it('stores their numbers exactly', async () => {
    service = await startService(
      withTokens((_, response) => response.end(`{"events":[{"odd":-0},${JSON.stringify(event(1)).slice(0, -1)},"odd":1E400}]}`)),
    )
    client = clientOf(service)
    const raws: unknown[] = []
    await committedBy(async ({ observations, unreadable }) => {
      raws.push(
        ...unreadable.map((item) => item.raw),
        ...observations.map((observation) => observation.kind === 'event' && observation.event.raw),
      )
    })
    expect(raws).toEqual(['{"odd":-0}', expect.stringMatching(/,"odd":1E400\}$/)])
  })

  it('commits nothing after a failed commit', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[event(2)], 'b'], b: [[event(3)], null] })
    let commits = 0
    const failing = committedBy(async () => {
      commits += 1
      if (commits === 2) throw new Error('the store is away')
    })
    expect(await thrownBy(failing)).toMatchObject({ message: 'the store is away' })
    expect(commits).toBe(2)
  })
})
