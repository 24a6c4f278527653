import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Change } from '../../../src/model/change.ts'
import { laterTime } from '../../../src/model/time.ts'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { submissionItems } from '../../../src/store/mirror/submission-items.ts'
import {
  accountsWithSubmissions,
  countSubmissions,
  listSubmissions,
  type SubmissionOrder,
  type SubmissionPlace,
  submissionOrders,
} from '../../../src/store/mirror/submission-list.ts'
import type { SubmissionFilter } from '../../../src/store/mirror/submission-search.ts'
import { writeSearchWords, writeStages } from '../../../src/store/mirror/writer.ts'
import { type OpenedDatabase, runSql, testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'

const ACCOUNTS = ['acme', 'beta']
const NAMES = [
  'Harbour Bakery LLC',
  'harbor freight',
  "O'Brien & Söhne GmbH",
  'ÉCOLE de Cuisine',
  'Žluťoučký kůň',
  'A-1 Roofing (West)',
  'Castan\u0303eda Freight',
  'Smørrebrød',
  'شركة البناء',
  '🦀 Crab Shack',
  "<script>alert('x')</script>",
  '=cmd|"/C calc"!A0',
  'x'.repeat(300),
  null,
]
const STAGES = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available']
const CHIPS = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available', 'odd', null]
const MARKETS = ['Alder Point', 'Birch Mutual', 'birch specialty', '100% Market_']

interface Sub {
  readonly account: string
  readonly id: string
  readonly name: string | null
  readonly effective: string | null
  readonly eventAt: string | null
  readonly messageAt: string | null
  readonly trackedAt: string
  readonly unreachable: boolean
  readonly marketing: string | null
  readonly quotes: readonly number[]
  readonly items: number
  readonly lanes: readonly { market: string; chip: string | null; status: string; gone: boolean; bound: boolean }[]
}

const time = (minute: number) => `2026-01-05T12:${String(minute).padStart(2, '0')}:00.000000Z`

/** Many of the same time and the same name, so that pages end between them. */
const ALL: Sub[] = Array.from({ length: 60 }, (_, n) => ({
  account: ACCOUNTS[n % 3 === 0 ? 1 : 0] ?? '',
  id: uuid(9, (n * 37) % 101),
  name: NAMES[n % NAMES.length] ?? null,
  effective: n % 4 === 0 ? null : `2026-0${1 + (n % 5)}-01`,
  eventAt: n % 3 === 0 ? null : time(n % 7),
  messageAt: n % 4 === 0 ? null : time(n % 5),
  trackedAt: time(n % 3),
  unreachable: n % 11 === 5,
  marketing: n % 5 === 0 ? null : n % 8 === 0 ? 'matched' : 'matching',
  quotes: n % 4 === 0 ? [] : [100_000 + (n % 5) * 100, 90_000 + (n % 7) * 1_000],
  items: n % 6,
  lanes: Array.from({ length: n % 4 }, (_, lane) => ({
    market: MARKETS[(n + lane) % MARKETS.length] ?? '',
    chip: CHIPS[(n * 3 + lane) % CHIPS.length] ?? null,
    status: ['quoted', 'declined', 'submitted'][(n + lane) % 3] ?? '',
    gone: (n + lane) % 6 === 0,
    bound: (n + lane) % 17 === 3,
  })),
}))

async function insert(db: Db, subs: readonly Sub[]): Promise<void> {
  await db.write('test', async (tx) => {
    for (const sub of subs) {
      await tx.run(sql`insert into submissions (account, submission_id, insured_name, effective_date, marketing_status, tracked_at, tracked_via,
          last_event_at, last_message_at, last_activity_at, unreachable_since)
        values (${sub.account}, ${sub.id}, ${sub.name}, ${sub.effective}, ${sub.marketing}, ${sub.trackedAt}, 'webhook', ${sub.eventAt},
          ${sub.messageAt}, ${laterTime(sub.eventAt, sub.messageAt)}, ${sub.unreachable ? time(1) : null})`)
      await named(tx, sub, sub.name)
      for (const [n, cents] of sub.quotes.entries())
        await tx.run(sql`insert into quotes (account, submission_id, lane_id, quote_id, total_cents, first_seen_at, raw)
          values (${sub.account}, ${sub.id}, ${uuid(3, n)}, ${uuid(7, n)}, ${cents}, ${time(n)}, '{}')`)
      for (let n = 0; n < sub.items; n += 1)
        await tx.run(sql`insert into outstanding_items (account, submission_id, item_key, label, raw)
          values (${sub.account}, ${sub.id}, ${`item ${n}`}, ${`Item ${n}`}, '{}')`)
      for (const [n, lane] of sub.lanes.entries()) {
        const flag = tx.kind === 'sqlite' ? Number(lane.bound) : lane.bound
        await tx.run(sql`insert into lanes (account, submission_id, lane_id, market_name, chip, status, state_source, bound, gone_at)
          values (${sub.account}, ${sub.id}, ${uuid(3, n)}, ${lane.market}, ${lane.chip}, ${lane.status}, 'rail', ${flag},
            ${lane.gone ? time(2) : null})`)
      }
      await writeStages(tx, [changeOf(sub, 'insert', {})])
    }
  })
}

function named(tx: Tx, { account, id }: Sub, name: string | null): Promise<void> {
  return writeSearchWords(tx, [changeOf({ account, id }, 'update', { insured_name: name })])
}

function changeOf({ account, id }: Pick<Sub, 'account' | 'id'>, operation: 'insert' | 'update', after: Change['after']): Change {
  const about = { account, submission_id: id, entity: 'submissions', entity_id: JSON.stringify([id]), before: null }
  return { ...about, operation, cause: 'poll', after }
}

const present = (sub: Sub) => sub.lanes.filter(({ gone }) => !gone)
function stageOf(sub: Sub): string {
  if (sub.unreachable) return 'unreachable'
  const chips = present(sub).map(({ chip, bound }) => (bound ? 'bound' : chip !== null && STAGES.includes(chip) ? chip : 'in_progress'))
  return STAGES.find((stage) => chips.includes(stage)) ?? sub.marketing ?? 'unknown'
}
const lowered = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
const keyOf: Readonly<Record<string, (sub: Sub) => string>> = {
  moved: ({ eventAt, messageAt, trackedAt }) => laterTime(eventAt, messageAt) ?? trackedAt,
  name: ({ name }) => (name === null ? '\u{10ffff}' : lowered([...name].slice(0, 200).join(''))),
  effective_date: ({ effective }) => effective ?? '9999-12-31',
  stage: (sub) => String(sub.unreachable ? 6 : STAGES.includes(stageOf(sub)) ? STAGES.indexOf(stageOf(sub)) : 5),
  lowest_quote: ({ quotes }) => String(Math.min(...quotes, 999_999)).padStart(7, '0'),
  '-lowest_quote': ({ quotes }) => String(quotes.length === 0 ? 0 : Math.min(...quotes)).padStart(7, '0'),
  outstanding: ({ items }) => String(items).padStart(3, '0'),
}

const isComputed = (order: SubmissionOrder) => /stage|lowest_quote|outstanding/.test(order)

function expected(is: (sub: Sub) => boolean, order: SubmissionOrder, of: readonly Sub[] = ALL): string[] {
  const key = keyOf[order] ?? keyOf[order.replace('-', '')] ?? (() => '')
  const sorted = of.filter(is).sort((a, b) => byBytes(key(a), key(b)) || byBytes(a.account, b.account) || byBytes(a.id, b.id))
  return (order.startsWith('-') ? sorted.reverse() : sorted).map(({ account, id }) => `${account} ${id}`)
}

describe.each(testDatabases)('the list of submissions on $name', (database) => {
  let opened: OpenedDatabase
  let db: Db
  beforeAll(async () => {
    opened = await database.open()
    db = opened.db
    await insert(db, ALL)
  })
  afterAll(() => opened.close())

  /** Read by the index of a condition and sorted, and read in the order of the list and tested: both are the same. */
  const found = async (filter: SubmissionFilter, order: SubmissionOrder = '-moved', accounts = ACCOUNTS) => {
    const read = async (mostSorted: number) =>
      (await listSubmissions(db.read, accounts, filter, { order, limit: 1_000, mostSorted })).map(
        ({ account, submission_id }) => `${account} ${submission_id}`,
      )
    const sorted = await read(5_000)
    if (!isComputed(order)) expect(await read(-1)).toEqual(sorted)
    return sorted
  }

  it('lists the accounts', async () => {
    expect(await accountsWithSubmissions(db.read)).toEqual(ACCOUNTS)
  })

  it.each(submissionOrders)('is sorted by %s, of all accounts and of one', async (order) => {
    expect(await found({}, order)).toEqual(expected(() => true, order))
    expect(await found({}, order, ['beta'])).toEqual(expected(({ account }) => account === 'beta', order))
  })

  it.each(submissionOrders)('shows each once in pages of any size, by %s', async (order) => {
    for (const limit of [1, 7, 200]) {
      const seen: string[] = []
      let after: SubmissionPlace | undefined
      for (;;) {
        const page = await listSubmissions(db.read, ACCOUNTS, {}, { order, after, limit })
        seen.push(...page.map(({ account, submission_id }) => `${account} ${submission_id}`))
        const last = page.at(-1)
        if (last === undefined) break
        after = last
      }
      expect(seen).toEqual(expected(() => true, order))
    }
  })

  it('sorts by a computed order only up to a limit', async () => {
    const list = (filter: SubmissionFilter) =>
      listSubmissions(db.read, ACCOUNTS, filter, { order: 'lowest_quote', limit: 5, mostSorted: 10 })
    await expect(list({})).rejects.toThrow(
      'sort: more than 10 submissions cannot be sorted by lowest_quote. Narrow the list first, for example by stage.',
    )
    expect(await list({ stage: 'bound', market: 'birch' })).not.toEqual([])
  })

  it.each([...CHIPS.slice(0, 5), 'matching', 'matched', 'unknown', 'unreachable', 'nonsense'])('shows those of stage %s', async (stage) => {
    const wanted = expected((sub) => stageOf(sub) === stage, 'name')
    expect(await found({ stage: stage ?? '' }, 'name')).toEqual(wanted)
    if (stage !== 'nonsense') expect(wanted.length).toBeGreaterThan(0)
  })

  it.each(['birch', 'Birch Mutual', 'ALDER', '100% Market_', '%', 'mutual'])('shows those with a lane in the market %s', async (market) => {
    const is = (sub: Sub) => present(sub).some((lane) => lowered(lane.market).startsWith(lowered(market)))
    expect(await found({ market })).toEqual(expected(is, '-moved'))
  })

  it('shows those with a lane of a status, and those that meet several conditions', async () => {
    const declined = (sub: Sub) => present(sub).some(({ status }) => status === 'declined')
    expect(await found({ status: 'declined' })).toEqual(expected(declined, '-moved'))
    const both = (sub: Sub) => declined(sub) && stageOf(sub) === 'quoted'
    expect(await found({ status: 'declined', stage: 'quoted' }, 'name')).toEqual(expected(both, 'name'))
    expect(expected(both, 'name').length).toBeGreaterThan(0)
  })

  it.each([
    ['harb', (name: string) => /^harb/i.test(name)],
    ['HARBOUR', (name: string) => name === 'Harbour Bakery LLC'],
    ['llc harb', (name: string) => name === 'Harbour Bakery LLC'],
    ['arbour', () => false],
    ["o'brien", (name: string) => name.startsWith("O'B")],
    ['brien söh', (name: string) => name.startsWith("O'B")],
    ['SÖHNE', (name: string) => name.startsWith("O'B")],
    ['école', (name: string) => name.startsWith('ÉCOLE')],
    ['Écol', (name: string) => name.startsWith('ÉCOLE')],
    ['žluť', (name: string) => name.startsWith('Žlu')],
    ['ŽLUŤ', (name: string) => name.startsWith('Žlu')],
    ['zlutoucky kun', (name: string) => name.startsWith('Žlu')],
    ['brien sohne', (name: string) => name.startsWith("O'B")],
    ['ecole', (name: string) => name.startsWith('ÉCOLE')],
    ['castaneda', (name: string) => name.startsWith('Casta')],
    ['CASTAÑEDA', (name: string) => name.startsWith('Casta')],
    ['smorrebrod', (name: string) => name.startsWith('Smør')],
    ['roofing west', (name: string) => name.startsWith('A-1')],
    ['شركة', (name: string) => name.startsWith('ش')],
    ['🦀', (name: string) => name.startsWith('🦀')],
    ['script alert', (name: string) => name.startsWith('<script')],
    ["'; drop table submissions; --", () => false],
    ['%', () => false],
    ['_', () => false],
    ['x'.repeat(70), (name: string) => name.startsWith('xxx')],
  ])('finds names by %s', async (search, is) => {
    expect(await found({ search }, 'name')).toEqual(expected(({ name }) => name !== null && is(name), 'name'))
  })

  it('finds by the beginning of an id or a market, and by a status', async () => {
    const id = ALL[7]?.id ?? ''
    for (const search of [id, id.toUpperCase(), id.slice(0, -1)])
      expect(await found({ search })).toEqual(expected((sub) => sub.id.startsWith(search.toLowerCase()), '-moved'))
    expect(await found({ search: 'Birch' })).toEqual(expected((sub) => present(sub).some(({ market }) => /^birch/i.test(market)), '-moved'))
    expect(await found({ search: 'Declined' })).toEqual(
      expected((sub) => present(sub).some(({ status }) => status === 'declined'), '-moved'),
    )
  })

  it("shows the data of each submission's rows", async () => {
    const places = await listSubmissions(db.read, ACCOUNTS, {}, { order: 'name', limit: 1_000 })
    const items = await submissionItems(db.read, places)
    expect(items).toHaveLength(ALL.length)
    for (const item of items) {
      const sub = ALL.find(({ account, id }) => account === item.account && id === item.submission_id) as Sub
      const lanes = present(sub).map(({ market }) => market)
      expect([item.insured_name, item.stage, item.effective_date]).toEqual([sub.name, stageOf(sub), sub.effective])
      expect(item.moved_at).toBe(keyOf['moved']?.(sub))
      expect(item.lanes.map(({ market_name }) => market_name).sort()).toEqual(lanes.sort())
    }
    expect(await submissionItems(db.read, [{ account: 'acme', submission_id: uuid(9, 9_999) }])).toEqual([])
  })

  it("shows the push state of each submission's changes", async () => {
    const keys = (await listSubmissions(db.read, ACCOUNTS, {}, { order: 'name', limit: 4 })).map(({ key: _, ...key }) => key)
    const states = [['delivered', 'ready', 'ready'], ['ready', 'dead', 'unknown'], ['delivered', 'skipped'], []]
    await db.write('test', async (tx) => {
      for (const [n, { account, submission_id: stream }] of keys.entries()) {
        for (const [seq, state] of (states[n] ?? []).entries())
          await tx.run(sql`insert into sync_outbox (destination, account, stream, submission_id, entity, entity_id, operation, cause, seq, message_id, state,
            attempts, uncertain, queued_at) values ('ams', ${account}, ${stream}, ${stream}, 'quotes', '[]', 'insert', 'poll', ${seq}, 'm', ${state},
            0, 0, ${timeValue(tx, time(0))})`)
      }
      const [, { account = '', submission_id: stream = '' } = {}] = keys
      await tx.run(sql`insert into sync_push_streams (destination, account, stream, due_at, blocked)
        values ('ams', ${account}, ${stream}, ${timeValue(tx, time(0))}, 'unmapped')`)
    })
    expect((await submissionItems(db.read, keys)).map(({ pushed }) => pushed)).toEqual([
      { waiting: 2, unmapped: 0, held: 0, dead: 0 },
      { waiting: 0, unmapped: 1, held: 0, dead: 2 },
      { waiting: 0, unmapped: 0, held: 0, dead: 0 },
      null,
    ])
  })

  it('counts the submissions of a stage up to a limit, as the list finds them', async () => {
    for (const stage of ['bound', 'quoted', 'unreachable', 'unknown', 'nowhere']) {
      const all = (await found({ stage })).length
      expect(await countSubmissions(db.read, ACCOUNTS, stage, 1_000), stage).toEqual({ count: all, is_complete: true })
      if (all > 1) expect(await countSubmissions(db.read, ACCOUNTS, stage, 1)).toEqual({ count: 1, is_complete: false })
    }
  })
})

describe.each(testDatabases)('the list of submissions that changes, on $name', (database) => {
  let opened: OpenedDatabase
  let db: Db
  beforeAll(async () => {
    opened = await database.open()
    db = opened.db
    await insert(db, ALL)
  })
  afterAll(() => opened.close())

  it('misses none that stays, and shows none twice, while others change', async () => {
    const gone = ALL.slice(0, 6)
    const stays = ALL.slice(6)
    const seen: string[] = []
    let after: SubmissionPlace | undefined
    for (let n = 0; ; n++) {
      const page = await listSubmissions(db.read, ACCOUNTS, {}, { order: 'name', after, limit: 5 })
      seen.push(...page.map(({ account, submission_id }) => `${account} ${submission_id}`))
      after = page.at(-1)
      if (after === undefined) break
      const [one] = ALL
      if (one) await insert(db, [{ ...one, id: uuid(8, n), name: NAMES[n % NAMES.length] ?? null, lanes: [] }])
      const lost = gone[n]
      if (lost) await runSql(db, sql`delete from submissions where account = ${lost.account} and submission_id = ${lost.id}`)
    }
    expect(new Set(seen).size).toBe(seen.length)
    const wanted = new Set(expected(() => true, 'name', stays))
    expect(seen.filter((name) => wanted.has(name))).toEqual(expected(() => true, 'name', stays))
  })

  it('finds the current name', async () => {
    const [, , sub] = ALL.slice(6)
    if (!sub) throw new Error('there is none')
    const found = async (search: string) =>
      (await listSubmissions(db.read, [sub.account], { search }, { order: 'name', limit: 500 })).some(
        (place) => place.submission_id === sub.id,
      )
    const rename = (name: string | null) => db.write('test', (tx) => named(tx, sub, name))
    await rename('Quarry Quarry\tQuilts,Inc')
    expect([await found('quilt'), await found('inc'), await found('quarry quilts')]).toEqual([true, true, true])
    await rename('Zeppelin "Yards" \\ [x]')
    expect([await found('quilt'), await found('yards'), await found('x zep')]).toEqual([false, true, true])
    await rename(null)
    expect([await found('yards'), await found(sub.id)]).toEqual([false, true])
  })
})
