import { beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { submissionOrders } from '../../../../src/store/mirror/submission-list.ts'
import { ensureAccounts } from '../../../../src/store/reads/accounts.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { uuid } from '../../../tools/observations.ts'
import { fillScene } from '../../../tools/query-scene.ts'
import { adminRigForAll, type Page } from '../rig.ts'

const BAKERY = uuid(9, 1)
const ROOFING = uuid(9, 2)
const LANE = uuid(3, 1)
/** One from the service's list, the others from markets and binds. */
const OPEN = 5
/** A destination that is not configured for the account but has changes of it. */
const REACHED = [
  {
    destination: 'agency',
    mapping: null,
    ...{ delivered: 1, waiting: 1, dead: 1, unknown: 0, skipped: 0, unmapped: 0, held: 0, has: 0, lacks: 0, differs: 0 },
    ...{ verified_at: null, last_delivered_at: null },
    oldest_waiting_at: expect.stringMatching(/^2026-01-05T12:40:00/),
    not_queued: 17,
  },
]

describe.each(testDatabases)('the submissions of the console on $name', (database) => {
  const rig = adminRigForAll(database)
  beforeAll(async () => {
    await ensureAccounts(rig.db, ['acme'])
    await fillScene(rig.db)
  })

  const idsOf = async (query: string) =>
    (await rig.ask<Page>('GET', `/submissions?${query}`)).json.items.map((item) => item['submission_id'])

  it('are listed with their stage', async () => {
    const { status, json } = await rig.ask<Page>('GET', '/submissions')
    expect([status, json.next_cursor, json.items.length]).toEqual([200, null, 2])
    const lane = { category: 'binding', status: 'in_progress', bound: false }
    const quote = { kind: null, total_cents: 118_000, premium_display: '$1180' }
    expect(json.items[0]).toEqual({
      account: 'acme',
      submission_id: BAKERY,
      insured_name: 'Harbour Bakery LLC',
      stage: 'quoted',
      marketing_status: 'matched',
      lines: ['general_liability'],
      state: 'TX',
      effective_date: '2026-03-01',
      lanes: [
        { ...lane, lane_id: LANE, market_name: 'Alder Point', status_label: 'Quoted', chip: 'quoted' },
        { ...lane, lane_id: uuid(3, 2), market_name: 'Birch Mutual', status_label: 'Needs information', chip: 'in_progress' },
      ],
      best_quote: { ...quote, lane_id: LANE, quote_id: uuid(7, 2), market_name: 'Alder Point' },
      outstanding_count: OPEN,
      bind_status: 'drafted',
      documents_held: 0,
      documents_missing: 1,
      moved_at: '2026-01-05T12:31:00.000000Z',
      tracked_at: expect.any(String),
      unreachable_since: null,
      oldest_read_at: '2026-01-05T12:55:00.000000Z',
      pushed: { waiting: 1, unmapped: 0, held: 0, dead: 1 },
      reconciled_at: '2026-01-05T12:50:00.000000Z',
    })
    expect(json.items[1]).toMatchObject({ submission_id: ROOFING, insured_name: null, stage: 'unknown', lanes: [], best_quote: null })
    expect(json.items[1]).toMatchObject({ oldest_read_at: null, reconciled_at: null, moved_at: '2026-01-05T12:05:00.000000Z' })
  })

  it.each([
    ['search=HARB', [BAKERY]],
    ['search=llc%20bak', [BAKERY]],
    ['search=arbour', []],
    [`search=${ROOFING}`, [ROOFING]],
    ['search=alder', [BAKERY]],
    ['market=birch', [BAKERY]],
    ['market=mutual', []],
    ['status=in_progress', [BAKERY]],
    ['stage=quoted', [BAKERY]],
    ['stage=in_progress', []],
    ['stage=unknown', [ROOFING]],
    ['sort=name', [BAKERY, ROOFING]],
    ['sort=-name', [ROOFING, BAKERY]],
    ['sort=moved', [ROOFING, BAKERY]],
    ['account=acme&sort=effective_date', [BAKERY, ROOFING]],
  ])('are filtered and sorted: %s', async (query, ids) => {
    expect(await idsOf(query)).toEqual(ids)
  })

  it.each(submissionOrders)('continue on the next page, sorted by %s', async (sort) => {
    const first = (await rig.ask<Page>('GET', `/submissions?sort=${sort}&limit=1`)).json
    const second = (await rig.ask<Page>('GET', `/submissions?sort=${sort}&limit=1&cursor=${first.next_cursor}`)).json
    expect([...first.items, ...second.items]).toEqual((await rig.ask<Page>('GET', `/submissions?sort=${sort}`)).json.items)
    expect(second.next_cursor).toBeNull()
  })

  it('are shown in full with masked personal values', async () => {
    const { status, json, text } = await rig.ask<Record<string, never>>('GET', `/submissions/acme/${BAKERY}`)
    expect(status).toBe(200)
    expect(json).toMatchObject({
      summary: { submission_id: BAKERY, stage: 'quoted' },
      tables: {
        submissions: [{ insured_name: 'Harbour Bakery LLC' }],
        lanes: [{ row_key: `acme/${BAKERY}/${LANE}`, chip: 'quoted' }, { market_name: 'Birch Mutual' }],
        bind_requests: [{ requested_by: '••••' }],
        bind_assumptions: [{ label: 'Years in business', value: '••••' }],
      },
      reached: REACHED,
      cut: [],
      clients: ['agency', 'ams', 'mapped'].map((destination) => ({ destination, client: null })),
      completeness: { reconciled_by: 'run-1', event_count: 2, message_count: 1 },
    })
    const items = (json['open_items'] as { source: string; item_key: string }[] | undefined) ?? []
    const asked = new Set(items.map(({ source, item_key }, n) => (source === 'outstanding' ? item_key : `${source} ${n}`)))
    expect(asked.size).toBe(OPEN)
    expect(text).not.toContain('"raw"')
    expect((await rig.ask('GET', `/submissions/acme/${uuid(9, 77)}`)).status).toBe(404)
    expect((await rig.ask('GET', `/submissions/none/${BAKERY}`)).status).toBe(404)
  })

  it('have a timeline with deliveries to destinations', async () => {
    const { json } = await rig.ask<Page>('GET', `/submissions/acme/${BAKERY}/timeline?kinds=event,message`)
    expect(json.items).toMatchObject([
      { kind: 'message', at: '2026-01-05T12:31:00.000000Z', summary: 'Your quotes', text: '••••', party: '••••', known_via: 'webhook' },
      { kind: 'event', what: 'quote_received', known_via: 'poll', webhook: 'none', party: 'Alder Point', lane_id: LANE },
      { kind: 'event', what: 'market_attached', webhook: 'first', pushes: [{ destination: 'agency', state: 'delivered', seq: 1 }] },
    ])
    expect((await rig.ask('GET', `/submissions/acme/${uuid(9, 77)}/timeline`)).status).toBe(404)
  })

  it('have rows that are shown unmasked, which is recorded', async () => {
    const key = `acme/${BAKERY}/${uuid(2, 31)}`
    const { json } = await rig.ask('GET', `/rows/thread_messages/${encodeURIComponent(key)}`)
    expect(json).toMatchObject({ table: 'thread_messages', row: { subject: 'Your quotes', raw: expect.stringContaining('"Your quotes"') } })
    expect(JSON.stringify(json)).not.toContain('••••')
    const detail = { account: 'acme', submission_id: BAKERY, key }
    expect(await rig.notes()).toEqual([{ who: 'alice', action: 'row.show', target: 'thread_messages', detail, outcome: 'done' }])
  })

  it('have each timeline entry once, for any page size', async () => {
    const path = `/submissions/acme/${BAKERY}/timeline`
    const whole = (await rig.ask<Page>('GET', `${path}?limit=200`)).json
    expect(whole.next_cursor).toBeNull()
    expect(new Set(whole.items.map(({ kind }) => kind))).toEqual(new Set(['event', 'message', 'change', 'push']))
    const times = whole.items.map(({ at }) => String(at))
    expect(times).toEqual([...times].sort().reverse())
    for (const limit of [1, 3, 7]) {
      const seen: unknown[] = []
      let cursor = ''
      do {
        const { json } = await rig.ask<Page>('GET', `${path}?limit=${limit}${cursor}`)
        expect(json.items.length).toBeLessThanOrEqual(limit)
        seen.push(...json.items)
        cursor = json.next_cursor === null ? '' : `&cursor=${json.next_cursor}`
      } while (cursor !== '')
      expect(seen).toEqual(whole.items)
    }
  })

  it('are masked for every role; only operators see a row', async () => {
    const [vera, otto] = ['viewer-0123456789-abc', 'operator-0123456789-abc']
    const before = rig.config
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `vera:${vera}:viewer otto:${otto}:operator` })
    const key = encodeURIComponent(`acme/${BAKERY}/${uuid(2, 31)}`)
    for (const token of [vera, otto]) {
      const one = await rig.ask('GET', `/submissions/acme/${BAKERY}`, { token })
      const timeline = await rig.ask('GET', `/submissions/acme/${BAKERY}/timeline`, { token })
      for (const secret of ['producer@brokerage.example', 'desk@service.example', 'Text of message'])
        expect([secret, one.text.includes(secret), timeline.text.includes(secret)]).toEqual([secret, false, false])
      const { status, text } = await rig.ask('GET', `/rows/thread_messages/${key}`, { token })
      expect([status, text.includes('desk@service.example')]).toEqual(token === otto ? [200, true] : [403, false])
    }
    expect((await rig.notes()).map(({ who }) => who)).toEqual(['alice', 'otto'])
    rig.config = before
  })

  it('reject invalid filters, cursors, keys and tables', async () => {
    const detailOf = async (path: string) => {
      const { status, json } = await rig.ask('GET', path)
      return [status, json['detail']]
    }
    const noCursor = [400, 'cursor: must be the `next_cursor` of a page of this list']
    const cursorOf = (...place: unknown[]) => Buffer.from(JSON.stringify(place)).toString('base64url')
    expect(await detailOf('/submissions?cursor=abc')).toEqual(noCursor)
    expect(await detailOf(`/submissions?cursor=${cursorOf('acme', BAKERY)}`)).toEqual(noCursor)
    // Cursor of another order.
    const [status] = await detailOf(`/submissions?sort=moved&cursor=${cursorOf('acme', BAKERY, 'harbour')}`)
    expect(status).toBe(database.name === 'sqlite' ? 200 : 400)
    expect((await detailOf('/submissions?sort=odd'))[0]).toBe(400)
    expect((await detailOf('/submissions?account=nobody'))[0]).toBe(404)
    expect((await detailOf(`/submissions/acme/${BAKERY}/timeline?kinds=odd`))[0]).toBe(400)
    for (const place of [['2026-01-05T12:31:00Z', 'odd', '1'], ['today', 'event', '1'], ['2026-01-05T12:31:00Z', 'push', 'x'], ['x']])
      expect(await detailOf(`/submissions/acme/${BAKERY}/timeline?cursor=${cursorOf(...place)}`)).toEqual(noCursor)
    expect((await detailOf('/submissions/acme/none'))[0]).toBe(400)
    expect(await detailOf('/rows/lanes/acme')).toEqual([404, 'lanes has no row with this key'])
    expect(await detailOf(`/rows/lanes/${encodeURIComponent(`acme/${BAKERY}/%E0`)}`)).toEqual([404, 'lanes has no row with this key'])
    expect((await detailOf('/rows/sync_inbox/1'))[0]).toBe(400)
    expect((await detailOf('/rows/changes/1'))[0]).toBe(200)
    expect((await detailOf('/rows/changes/x'))[0]).toBe(404)
  })

  it.each(["'; drop table submissions; --", '<script>', '%', '\u202e', '🦀', 'x'.repeat(200), '=1+1', '\\'])(
    'treat %s as text',
    async (text) => {
      const asked = encodeURIComponent(text)
      for (const path of [`/search?q=${asked}`, `/submissions?search=${asked}&market=${asked}&status=${asked}&stage=${asked}`])
        expect(await rig.ask<Page>('GET', path)).toMatchObject({ status: 200, json: { items: [] } })
    },
  )

  it('are found by search, as are deliveries and pushes', async () => {
    const found = async (q: string) => (await rig.ask<Page>('GET', `/search?q=${encodeURIComponent(q)}`)).json.items
    expect(await found('bak')).toMatchObject([{ kind: 'submission', id: BAKERY, title: 'Harbour Bakery LLC', state: 'quoted' }])
    expect(await found('message-1')).toMatchObject([{ kind: 'push', title: 'message-1', about: 'agency' }])
    expect(await found('nothing')).toEqual([])
  })
})
