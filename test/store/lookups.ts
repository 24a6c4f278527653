import { sql } from 'kysely'
import { submissionsPage } from '../../src/ops/actions/submissions-page.ts'
import { timelinePage } from '../../src/ops/actions/timeline.ts'
import { showFix } from '../../src/ops/operations/index.ts'
import { searchAll } from '../../src/ops/operations/search.ts'
import { submissionViewOf } from '../../src/ops/operations/submission-show.ts'
import { readStatus } from '../../src/ops/status/status.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { listDeliveries } from '../../src/store/inbox/queries.ts'
import { failedRows, findOutboxRows, listOutbox, type OutboxListFilter } from '../../src/store/outbox/queries.ts'
import { BUSY, DESTINATION, QUIET, type Scale, someSubmissions } from '../bench/size/rows.ts'
import { uuid } from '../tools/observations.ts'

/** A lookup. `run` uses the n-th of several keys. */
export interface Lookup {
  readonly name: string
  run(db: Db, n: number): Promise<unknown>
}

const PAGE = 50
export const KEYS = 15

/** Queries for one submission. */
const ofSubmission: Readonly<Record<string, string>> = {
  events: 'market_events where $ order by occurred_at, event_id',
  messages: 'thread_messages where $ order by occurred_at, message_id',
  timeline: 'activity_timeline where $ order by occurred_at, record_id',
  changes: 'changes where $ order by seq',
  'pushes (push_status)': 'push_status where $ order by seq',
  submission_overview: 'submission_overview where $',
  lane_board: 'lane_board where $ order by lane_id',
  lane_lines: 'lane_lines where $ order by lane_id',
  quote_board: 'quote_board where $ order by lane_id, quote_id',
  bind_board: 'bind_board where $ order by bind_request_id',
  open_items: 'open_items where $ order by source, item_key',
  document_index: 'document_index where $ order by document_key',
  completeness: 'completeness where $',
}

const newest: Readonly<Record<string, string>> = {
  events: 'market_events where $ order by occurred_at desc, event_id desc',
  messages: 'thread_messages where $ order by occurred_at desc, message_id desc',
  timeline: 'activity_timeline where $ order by occurred_at desc, record_id desc',
  changes: 'changes where $ order by seq desc',
  'pushes (push_status)': 'push_status where $ order by seq desc',
  'submission_overview by last activity': 'submission_overview where $ order by last_activity_at desc',
  'submission_overview by last event': 'submission_overview where $ order by last_event_at desc',
  'submission_overview by last activity, nulls last': 'submission_overview where $ order by last_activity_at desc nulls last',
}

const newestOfAll: Readonly<Record<string, string>> = {
  'submission_overview by last activity': 'submission_overview order by last_activity_at desc',
  'submission_overview by last activity, nulls last': 'submission_overview order by last_activity_at desc nulls last',
  'submission_overview by last event': 'submission_overview order by last_event_at desc',
}

const overEverything: Readonly<Record<string, string>> = {
  'completeness, summed up':
    'select count(*), sum(event_count), sum(message_count), sum(lost_webhooks), min(reconciled_at) from completeness',
  account_completeness: 'select * from account_completeness',
  'arrival counts, summed up': 'select account, entity, sum(webhook), sum(poll), sum(lost) from arrival_counts group by account, entity',
}

const LATEST = '(account, submission_id) in (select account, submission_id from submissions order by last_activity_at desc limit 50)'
const ofLatest = ['lane_board', 'lane_lines', 'quote_board', 'bind_board', 'open_items', 'document_index', 'policy_board']

export function lookups(scale: Scale): Lookup[] {
  const ids = someSubmissions(scale, BUSY, KEYS).map((n) => uuid(9, n))
  const idOf = (n: number) => ids[n] ?? ''
  const one = Object.entries(ofSubmission).map(([name, from]): Lookup => {
    const run = (db: Db, n: number) => ask(db, `select * from ${from.replace('$', `account = '${BUSY}' and submission_id = '${idOf(n)}'`)}`)
    return { name: `a submission's ${name}`, run }
  })
  const messageIds = ids.map((_, n) => uuid(7, (Math.floor((n * scale.events) / KEYS) * 2654435761) % 4294967296))
  const commands: Lookup[] = [
    { name: 'inbox list --submission', run: (db, n) => listDeliveries(db.read, { submissionId: idOf(n) }, PAGE) },
    { name: 'inbox list --account --submission', run: (db, n) => listDeliveries(db.read, { account: BUSY, submissionId: idOf(n) }, PAGE) },
    { name: 'outbox list --submission', run: (db, n) => listOutbox(db.read, { submissionId: idOf(n) }, PAGE) },
    ...[undefined, 'delivered', 'retrying'].map((state): Lookup => {
      const filter = { destination: DESTINATION, state } as OutboxListFilter
      return { name: `outbox list --destination, ${state ?? 'all states'}`, run: (db) => listOutbox(db.read, filter, PAGE) }
    }),
    { name: 'destination failures', run: (db) => failedRows(db.read, DESTINATION, PAGE) },
    { name: 'outbox show MESSAGE_ID', run: (db, n) => findOutboxRows(db.read, messageIds[n] ?? '') },
  ]
  const ofAll = Object.entries(newestOfAll).map(([name, from]): Lookup => {
    return { name: `the newest ${PAGE} of ${name}`, run: (db) => ask(db, `select * from ${from} limit ${PAGE}`) }
  })
  const boards = ofLatest.map((view): Lookup => {
    return { name: `${view} of the latest ${PAGE}`, run: (db) => ask(db, `select * from ${view} where ${LATEST}`) }
  })
  return [...one, ...commands, ...ofAll, ...boards, ...[BUSY, QUIET].flatMap(newestOf)]
}

/** Queries of the console's routes, by filter, with common and rare values. */
const lists: Readonly<Record<string, Partial<Parameters<typeof submissionsPage>[1]>>> = {
  'the newest': {},
  'of an account, by name': { account: BUSY, order: 'name' },
  'by effective date': { order: 'effective_date' },
  'named bakery': { search: 'bakery' },
  'named llc': { search: 'llc' },
  'named llc, by name': { search: 'llc', order: 'name' },
  'named insured bakery': { search: 'insured bakery' },
  'in a market that most have': { market: 'market' },
  'in a rare market': { market: 'rare' },
  'with a rare status': { status: 'declined', order: 'name' },
  'that are quoted': { stage: 'quoted' },
  'that need information, in a rare market': { stage: 'needs_info', market: 'rare' },
  'that nobody finds': { search: 'zzz', stage: 'bound' },
}

export function consoleLookups(scale: Scale): Lookup[] {
  const ids = someSubmissions(scale, BUSY, KEYS).map((n) => uuid(9, n))
  const idOf = (n: number) => ids[n] ?? ''
  return [
    ...Object.entries(lists).map(([name, asked]): Lookup => {
      return { name: `submissions ${name}`, run: (db) => submissionsPage(db.read, { order: '-moved', limit: PAGE, ...asked }) }
    }),
    { name: 'submissions from the middle on', run: (db) => submissionsPage(db.read, { order: 'name', limit: PAGE, after: MIDDLE }) },
    { name: 'one submission', run: (db, n) => submissionViewOf(db.read, BUSY, idOf(n), { limit: PAGE, destinations: [] }) },
    { name: 'its timeline', run: (db, n) => timelinePage(db.read, { account: BUSY, submissionId: idOf(n), limit: PAGE }) },
    { name: 'a search by name', run: (db, n) => searchAll(db.read, `insured ${n * 17}`, 20) },
    { name: 'a search by the beginning of an id', run: (db, n) => searchAll(db.read, idOf(n).slice(0, 30), 20) },
    { name: 'a search by a word that all have', run: (db) => searchAll(db.read, 'l', 20) },
  ]
}

const MIDDLE = { account: BUSY, submission_id: uuid(9, 50_000), key: 'insured 50000 trading llc' }

function newestOf(account: string): Lookup[] {
  const asked = Object.entries(newest).map(([name, from]): Lookup => {
    const text = `select * from ${from.replace('$', `account = '${account}'`)} limit ${PAGE}`
    return { name: `the newest ${PAGE} of ${name}, ${account} account`, run: (db) => ask(db, text) }
  })
  return [
    ...asked,
    { name: `inbox list --account, ${account} account`, run: (db) => listDeliveries(db.read, { account }, PAGE) },
    { name: `outbox list --account, ${account} account`, run: (db) => listOutbox(db.read, { account }, PAGE) },
  ]
}

/** Settings for `status`; without accounts and destinations it shows those of the database. */
const SETTINGS = {
  accounts: [],
  destinations: [],
  upstream: { rps: 10, concurrency: 8, httpsProxy: null, httpProxy: null, noProxy: null },
  poll: { activeMs: 60_000, quietMs: 900_000, maxMs: 21_600_000, dormantMs: 604_800_000 },
  documents: { mode: 'fetch' },
} as const

export function completenessLookups(): Lookup[] {
  return [
    ...Object.entries(overEverything).map(([name, text]): Lookup => ({ name, run: (db) => ask(db, text) })),
    { name: 'status', run: (db) => readStatus(db, { version: 'bench', config: SETTINGS, showFix, isTerminal: true }) },
  ]
}

function ask(db: Db, text: string): Promise<unknown> {
  return db.read.all(sql.raw(text))
}
