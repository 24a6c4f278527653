import { beforeAll, describe, expect, it } from 'vitest'
import type { Row } from '../../../src/model/entity.ts'
import type { TimeText } from '../../../src/model/time.ts'
import { recordPage } from '../../../src/ops/record/page.ts'
import type { LoggedChange } from '../../../src/store/changes/reader.ts'

const at = (minute: number) => `2026-03-01T10:${String(minute).padStart(2, '0')}:00.000000Z` as TimeText
const utc = (minute: number) => `2026-03-01 10:${String(minute).padStart(2, '0')}:00 UTC`
const [LANE, COPIED] = ['lane-1', { first_seen_at: at(30), first_seen_via: 'backfill', gone_at: null }]
const TABLES: Readonly<Record<string, Row[]>> = {
  submissions: [{ submission_id: 's', insured_name: 'Harbor Bakery', tracked_at: at(30) }],
  lanes: [{ lane_id: LANE, market_name: 'Kestrel', status_label: 'Quoted', chip: 'quoted', gone_at: null }],
  market_events: [
    {
      event_id: 'e1',
      lane_id: LANE,
      type: 'market_attached',
      market_name: 'Kestrel',
      occurred_at: at(1),
      status_label: 'Submitted',
      ...COPIED,
    },
    { event_id: 'e2', lane_id: LANE, type: 'quote_received', market_name: 'Kestrel', occurred_at: at(5), ...COPIED },
    {
      event_id: 'e3',
      lane_id: LANE,
      type: 'quote_received',
      market_name: 'Kestrel',
      occurred_at: at(35),
      ...COPIED,
      first_seen_via: 'poll',
    },
    { event_id: 'e4', lane_id: LANE, type: 'declined', market_name: 'Kestrel', status_label: 'Declined', occurred_at: at(50), ...COPIED },
  ],
  thread_messages: [
    {
      message_id: 'm1',
      channel: 'chat',
      direction: 'inbound',
      to_addresses: [],
      body_text: 'Tax id [protected]',
      occurred_at: at(40),
      ...COPIED,
    },
  ],
  quotes: [
    { quote_id: 'q1', lane_id: LANE, premium_display: '$900', lines: ['general_liability'], first_seen_at: at(31), gone_at: null },
    { quote_id: 'q2', lane_id: LANE, premium_display: '$800', is_revision: true, first_seen_at: at(36), gone_at: at(45) },
  ],
  bind_requests: [{ bind_request_id: 'b1', quote_id: 'q1', policy_id: 'p1', status_label: 'Bound', requested_at: at(20), gone_at: null }],
  bind_contingencies: [{ bind_request_id: 'b1', contingency_id: 'c1', label: 'Signed application', status: 'pending', gone_at: null }],
  policies: [{ policy_id: 'p1', policy_number: 'POL-7', gone_at: null }],
  bind_assumptions: [{ bind_request_id: 'b1', key: 'years', label: 'Years in business', value: 12, gone_at: null }],
  source_offers: [{ lane_id: LANE, presentation_id: 'o1', kind: 'indication', document_url: '/o1.pdf', gone_at: null }],
  documents: [
    { document_key: 'd1', name: 'Binder.pdf', origin: 'policy', gone_at: null },
    { document_key: 'd2', name: 'proposal.pdf', origin: 'carrier_original', document_url: '/o1.pdf', gone_at: null },
  ],
  documents_on_file: [{ item_key: 'f1', display_name: 'Loss runs.pdf', gone_at: null }],
}

function change(entity: string, id: readonly string[], minute: number, after: Row, before: Row | null = null): LoggedChange {
  const entity_id = JSON.stringify(['s', ...id])
  return { entity, entity_id, changed_at: at(minute), operation: before ? 'update' : 'insert', after, before } as unknown as LoggedChange
}

const CHANGES = [
  change('submissions', [], 31, { insured_name: 'Harbor Bakery' }, { insured_name: null }),
  change('quotes', [LANE, 'q1'], 31, { premium_display: '$950', lines: ['general_liability'], quote_id: 'q1', lane_id: LANE }),
  change('bind_requests', ['b1'], 31, { ...TABLES['bind_requests']?.[0] }),
  change('quotes', [LANE, 'q1'], 44, { premium_display: '$900', total_cents: 90_000 }, { premium_display: '$950', total_cents: 95_000 }),
  change('bind_contingencies', ['b1', 'c1'], 45, { ...TABLES['bind_contingencies']?.[0] }),
  change('requirement_items', [LANE, 'k', 'i'], 46, { label: 'Loss runs', result: 'met', lane_id: LANE, enforcement: 'enforce' }),
]

describe('the page of a record', () => {
  let lines: string[]

  beforeAll(() => {
    const asOf = { at: at(59), by: 'learned', seq: 9, since: at(29) } as const
    const held = { deliveries: new Map(), documents: new Map([['d1', 'documents/d1-Binder of 2026.pdf']]), checks: [], gaps: [] }
    const of = { account: 'default', submissionId: 's' }
    const tables = new Map(Object.entries(TABLES).map(([table, rows]) => [table, rows.map((row) => ({ submission_id: 's', ...row }))]))
    const markup = recordPage({ of, asOf, tables, changes: CHANGES, ...held }, 'Exported.')
    lines = markup
      .slice(markup.indexOf('<body'))
      .replaceAll(/<\/(p|h\d|tr|li)>/g, '\n')
      .replaceAll(/<\/t[dh]>/g, ' | ')
      .replaceAll(/<a href="([^"]*)">([^<]*)<\/a>/g, '$2 ($1)')
      .replaceAll(/<[^>]+>/g, '')
      .replaceAll('&#39;', "'")
      .split('\n')
      .map((line) => line.trim())
  })

  const section = (heading: string) => lines.slice(lines.indexOf(heading) + 1, lines.indexOf('', lines.indexOf(heading)))

  it('lists the quotes with market, coverage, and times, and bind requests with market and policy number', () => {
    expect(section('Quotes').slice(2)).toEqual([
      `Kestrel | $900 | general liability |  | ${utc(31)} |  |`,
      `Kestrel | $800 |  | yes | ${utc(36)} | ${utc(45)} |`,
    ])
    expect(section('Bind requests')[1]).toContain('Time that the service gives')
    expect(section('Bind requests')[2]).toBe(`Kestrel | $900 | Bound | ${utc(20)} | POL-7 |`)
    expect(section('Conditions of bind requests').at(-1)).toBe('Kestrel | Signed application | pending |')
    expect(section('Statements to confirm for bind requests').slice(1)).toEqual([
      'Market | Item | Value shown by the service, not yet confirmed |',
      'Kestrel | Years in business | 12 |',
    ])
    expect(section('Documents').slice(2)).toEqual(
      [
        ' | Binder.pdf (documents/d1-Binder%20of%202026.pdf) | policy |',
        'Kestrel | proposal.pdf (not in this archive) | carrier original (the service calls it an indication) |',
      ].map((line) => line.trim()),
    )
    expect(section('Other documents').at(-1)).toBe('Loss runs.pdf |')
  })

  it('orders the chronology by time, without the first copy', () => {
    const titles = lines.filter((line) => /^\S+ \S+ UTC · /.test(line))
    expect(titles).toEqual([
      `${utc(1)} · Kestrel: market added to the submission`,
      `${utc(5)} · Kestrel: quote received`,
      `${utc(20)} · Bind requests: Kestrel (time that the service gives)`,
      `${utc(35)} · Kestrel: quote received`,
      `${utc(40)} · Message in the service's chat from the brokerage`,
      `${utc(44)} · Quotes: Kestrel (changed)`,
      `${utc(45)} · Conditions of bind requests: Signed application, Kestrel (added)`,
      `${utc(46)} · Requirements: Loss runs, Kestrel (added)`,
      `${utc(50)} · Kestrel: declined`,
    ])
    expect(lines).toContain('Premium | $900 (before: $950) |')
    expect(lines).toContain('Status when fetched, not at the time above | Bound |')
  })

  it('explains a protected value, and names no missing value, internal column, or internal word', () => {
    expect(lines).toContain('Text | Tax id [protected] |')
    expect(lines).toContainEqual(expect.stringContaining('[protected] in a text replaces a tax id'))
    expect(lines).toContainEqual(expect.stringMatching(/^Source \| the service's history, fetched .* No signed delivery is held/))
    expect(lines.join('\n')).not.toMatch(/null|undefined|general_liability|enforce|chip|lane-1|learned|poll|re-read/)
  })
})
