import { describe, expect, it } from 'vitest'
import type { Applied } from '../../src/apply/apply.ts'
import { type FeedPage, type Walk, type WalkEnd, walkFeed } from '../../src/read/walk.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { at, byPoll, uuid, wireEvent } from '../tools/facts.ts'
import { clientOf, json, type Service, startService, thrownBy, withTokens } from '../upstream/service.ts'

const SUBMISSION = uuid(9, 1)
const walk: Walk = { account: 'acme', submissionId: SUBMISSION, read: 'events', since: null, ...byPoll }

/** What the service answers to a cursor: its items and the next cursor. `''` is the beginning. */
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

/** Walks, and keeps what was committed in its order. */
async function committedBy(commit: (page: FeedPage) => Promise<void> = async () => {}): Promise<Committed[]> {
  const committed: Committed[] = []
  const keep = async (page: FeedPage, end: WalkEnd | null): Promise<Applied> => {
    await commit(page)
    const ids = page.facts.map((fact) => (fact.kind === 'event' ? fact.event.event_id : ''))
    committed.push({ ids, cursor: page.nextCursor, ended: end === null ? null : (end.stall?.reason ?? 'complete') })
    return { inserted: page.facts.length, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() }
  }
  await walkFeed(client, walk, keep, new AbortController().signal)
  return committed
}

const event = (n: number) => wireEvent(n)
const SAME = 'the service returned the same cursor again and nothing after it'

describe('walking a feed page by page', () => {
  it('trap 01: goes on until the cursor is null, over short and empty pages, and commits in their order', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[], 'b'], b: [[event(2), event(3)], 'c'], c: [[], null] })
    expect(await committedBy()).toEqual([
      { ids: [uuid(1, 1)], cursor: 'a', ended: null },
      { ids: [], cursor: 'b', ended: null },
      { ids: [uuid(1, 2), uuid(1, 3)], cursor: 'c', ended: null },
      { ids: [], cursor: null, ended: 'complete' },
    ])
  })

  it('trap 02: ends when the same cursor comes again', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[], 'a'] })
    expect((await committedBy()).at(-1)).toEqual({ ids: [], cursor: 'a', ended: SAME })
    expect(service.to('/events')).toHaveLength(2)
  })

  it('trap 02: ends when empty pages lead round in a circle', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[], 'b'], b: [[], 'c'], c: [[], 'a'] })
    expect((await committedBy()).at(-1)).toEqual({ ids: [], cursor: 'a', ended: SAME })
    expect(service.to('/events')).toHaveLength(4)
  })

  it('trap 02: ends at an empty cursor, which would be the beginning again, and hands none on', async () => {
    await serve({ '': [[event(1)], 'a'], a: [[event(2)], ''] })
    expect((await committedBy()).at(-1)).toEqual({ ids: [uuid(1, 2)], cursor: null, ended: 'the service returned an empty cursor' })
  })

  it('trap 02: ends after 200 empty pages in a row, each with a new cursor, and keeps the last', async () => {
    const next = (n: number): Pages => ({ [n === 0 ? '' : `c${n}`]: [n === 50 ? [event(1)] : [], `c${n + 1}`] })
    await serve(Object.assign({}, ...Array.from({ length: 400 }, (_, n) => next(n))))
    const committed = await committedBy()
    expect(committed).toHaveLength(251)
    expect(committed.at(-1)).toMatchObject({
      cursor: 'c251',
      ended: 'the service returned 200 empty pages in a row, each with a new cursor',
    })
  })

  it('trap 03: takes a page without next_cursor for the last, and tells that nobody said so', async () => {
    service = await startService(withTokens((_, response) => json(response, { events: [event(1)] })))
    client = clientOf(service)
    const commit = async (): Promise<Applied> => ({ inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() })
    const end = await walkFeed(client, walk, commit, new AbortController().signal)
    expect(end).toMatchObject({ stall: null, isEndTold: false, pages: 1 })
  })

  it('tells the time of the newest item of all pages, wherever it stands', async () => {
    const untimed = { ...event(4), occurred_at: 'never' }
    await serve({ '': [[event(2), event(3), event(1)], 'a'], a: [[], 'b'], b: [[event(2), untimed], null] })
    const commit = async (): Promise<Applied> => ({ inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() })
    const end = await walkFeed(client, walk, commit, new AbortController().signal)
    expect(end.newestAt).toBe(at(3).replace('Z', '000Z'))
  })

  it('trap 04: asks without a cursor for the beginning', async () => {
    await serve({ '': [[], null] })
    await committedBy()
    expect(service.to('/events')[0]?.url).not.toContain('since')
  })

  it('keeps items that are not what they should be, and reads the others', async () => {
    await serve({ '': [[event(1), { id: 'no uuid' }, 'no object', event(2)], null] })
    const unreadable: string[] = []
    const committed = await committedBy(async (page) => {
      unreadable.push(...page.unreadable.map((item) => item.raw))
    })
    expect(committed[0]?.ids).toEqual([uuid(1, 1), uuid(1, 2)])
    expect(unreadable).toEqual(['{"id":"no uuid"}', '"no object"'])
  })

  it('keeps their numbers as they came', async () => {
    service = await startService(
      withTokens((_, response) => response.end(`{"events":[{"odd":-0},${JSON.stringify(event(1)).slice(0, -1)},"odd":1E400}]}`)),
    )
    client = clientOf(service)
    const raws: unknown[] = []
    await committedBy(async ({ facts, unreadable }) => {
      raws.push(...unreadable.map((item) => item.raw), ...facts.map((fact) => fact.kind === 'event' && fact.event.raw))
    })
    expect(raws).toEqual(['{"odd":-0}', expect.stringMatching(/,"odd":1E400\}$/)])
  })

  it('commits nothing more after a commit that failed', async () => {
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
