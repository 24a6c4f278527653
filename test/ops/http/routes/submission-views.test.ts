import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureAccounts } from '../../../../src/store/reads/accounts.ts'
import { testDatabases } from '../../../tools/databases.ts'
import { uuid } from '../../../tools/facts.ts'
import { fillScene } from '../../../tools/query-scene.ts'
import { AdminRig } from '../rig.ts'

const BAKERY = uuid(9, 1)
const ROOFING = uuid(9, 2)
const LANE = uuid(3, 1)

interface Page {
  readonly items: readonly Record<string, unknown>[]
  readonly next_cursor: string | null
}

describe.each(testDatabases)('the submissions of the console on $name', (database) => {
  let rig: AdminRig
  beforeAll(async () => {
    rig = await AdminRig.open(database)
    await ensureAccounts(rig.db, ['acme'])
    await fillScene(rig.db)
  })
  afterAll(() => rig.close())

  const idsOf = async (query: string) =>
    (await rig.ask<Page>('GET', `/submissions?${query}`)).json.items.map((item) => item['submission_id'])

  it('lists them with where each stands', async () => {
    const { status, json } = await rig.ask<Page>('GET', '/submissions')
    expect([status, json.next_cursor, json.items.length]).toEqual([200, null, 2])
    const lane = { category: 'binding', status: 'in_progress', bound: false }
    expect(json.items[0]).toEqual({
      ...{ account: 'acme', submission_id: BAKERY, insured_name: 'Harbour Bakery LLC', stands: 'quoted', marketing_status: 'matched' },
      ...{ lines: ['general_liability'], state: 'TX', effective_date: '2026-03-01' },
      lanes: [
        { ...lane, lane_id: LANE, market_name: 'Alder Point', status_label: 'Quoted', chip: 'quoted' },
        { ...lane, lane_id: uuid(3, 2), market_name: 'Birch Mutual', status_label: 'Needs information', chip: 'in_progress' },
      ],
      best_quote: {
        ...{ lane_id: LANE, quote_id: uuid(7, 2), market_name: 'Alder Point', kind: null },
        ...{ total_cents: 118_000, premium_display: '$1180' },
      },
      ...{ outstanding_count: 1, bind_status: 'drafted', documents_held: 0, documents_missing: 1 },
      ...{ moved_at: '2026-01-05T12:31:00.000000Z', tracked_at: expect.any(String), unreachable_since: null },
      ...{ oldest_read_at: '2026-01-05T12:55:00.000000Z', proved_at: '2026-01-05T12:50:00.000000Z' },
    })
    expect(json.items[1]).toMatchObject({ submission_id: ROOFING, insured_name: null, stands: 'unknown', lanes: [], best_quote: null })
    expect(json.items[1]).toMatchObject({ oldest_read_at: null, proved_at: null, moved_at: '2026-01-05T12:05:00.000000Z' })
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
    ['stands=quoted', [BAKERY]],
    ['stands=in_progress', []],
    ['stands=unknown', [ROOFING]],
    ['sort=name', [BAKERY, ROOFING]],
    ['sort=-name', [ROOFING, BAKERY]],
    ['sort=moved', [ROOFING, BAKERY]],
    ['account=acme&sort=effective_date', [BAKERY, ROOFING]],
  ])('filters and sorts them: %s', async (query, ids) => {
    expect(await idsOf(query)).toEqual(ids)
  })

  it('shows one whole, personal values masked', async () => {
    const { status, json, text } = await rig.ask<Record<string, never>>('GET', `/submissions/acme/${BAKERY}`)
    expect(status).toBe(200)
    expect(json).toMatchObject({
      summary: { submission_id: BAKERY, stands: 'quoted' },
      tables: {
        submissions: [{ insured_name: 'Harbour Bakery LLC' }],
        lanes: [{ row_key: `acme/${BAKERY}/${LANE}`, chip: 'quoted' }, { market_name: 'Birch Mutual' }],
        bind_requests: [{ requested_by: '••••' }],
        bind_assumptions: [{ label: 'Years in business', value: '••••' }],
      },
      ...{ cut: [], clients: ['agency', 'ams', 'mapped'].map((destination) => ({ destination, client: null })) },
      ledger: { proved_by: 'run-1', event_count: 2, message_count: 1 },
    })
    expect(text).not.toContain('"raw"')
    expect((await rig.ask('GET', `/submissions/acme/${uuid(9, 77)}`)).status).toBe(404)
    expect((await rig.ask('GET', `/submissions/none/${BAKERY}`)).status).toBe(404)
  })

  it('shows what happened in it, and what reached whom', async () => {
    const { json } = await rig.ask<Page>('GET', `/submissions/acme/${BAKERY}/timeline?kinds=event,message`)
    expect(json.items).toMatchObject([
      { kind: 'message', at: '2026-01-05T12:31:00.000000Z', summary: 'Your quotes', text: '••••', party: '••••', known_via: 'webhook' },
      { kind: 'event', what: 'quote_received', known_via: 'poll', webhook: 'none', party: 'Alder Point', lane_id: LANE },
      { kind: 'event', what: 'market_attached', webhook: 'first', pushes: [{ destination: 'agency', state: 'delivered', seq: 1 }] },
    ])
    expect((await rig.ask('GET', `/submissions/acme/${uuid(9, 77)}/timeline`)).status).toBe(404)
  })

  it('shows a row whole, and notes who saw it', async () => {
    const key = `acme/${BAKERY}/${uuid(2, 31)}`
    const { json } = await rig.ask('GET', `/rows/thread_messages/${encodeURIComponent(key)}`)
    expect(json).toMatchObject({ table: 'thread_messages', row: { subject: 'Your quotes', raw: expect.stringContaining('"Your quotes"') } })
    expect(JSON.stringify(json)).not.toContain('••••')
    const detail = { account: 'acme', submission_id: BAKERY, key }
    expect(await rig.notes()).toEqual([{ who: 'alice', action: 'row.show', target: 'thread_messages', detail, outcome: 'done' }])
  })

  it('finds submissions, deliveries and pushes', async () => {
    const found = async (q: string) => (await rig.ask<Page>('GET', `/search?q=${encodeURIComponent(q)}`)).json.items
    expect(await found('bak')).toMatchObject([{ kind: 'submission', id: BAKERY, title: 'Harbour Bakery LLC', state: 'quoted' }])
    expect(await found('message-1')).toMatchObject([{ kind: 'push', title: 'message-1', about: 'agency' }])
    expect(await found('nothing')).toEqual([])
  })
})
