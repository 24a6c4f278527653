import { z } from 'zod'
import { lanes } from '../model/entities/lanes.ts'
import { marketEvents } from '../model/entities/market-events.ts'
import { quoteHistory } from '../model/entities/quote-history.ts'
import { quotes } from '../model/entities/quotes.ts'
import { sourceOffers } from '../model/entities/source-offers.ts'
import { submissions } from '../model/entities/submissions.ts'
import { threadAttachments } from '../model/entities/thread-attachments.ts'
import { threadMessages } from '../model/entities/thread-messages.ts'
import { entityNamed } from '../model/entities.ts'
import { type Entity, ownKey, type Row } from '../model/entity.ts'
import { type Json, sameJson } from '../model/json.ts'
import { parseTime } from '../model/time.ts'
import type { Query } from '../store/engine/db.ts'
import { shownDocuments } from './shown-documents.ts'
import { bindTruth, detailTruth, readinessTruth, rowOf, type ShownLists, shownBinds, shownDetails, shownReadiness } from './shown-lists.ts'

/*
 * The comparison has schemas of its own for the sandbox's truth, not those of upstream/: a misreading there must show here.
 */

const attachment = z.object({ name: z.string(), download_path: z.string().nullable() })
const message = z.object({
  id: z.string(),
  channel: z.string(),
  direction: z.string(),
  kind: z.string(),
  occurred_at: z.string(),
  subject: z.string().nullable(),
  body_text: z.string(),
  from: z.string().nullable(),
  to: z.array(z.string()),
  attachments: z.array(attachment),
  in_reply_to: z.string().nullable(),
})
const event = z.object({
  id: z.string(),
  type: z.string(),
  occurred_at: z.string(),
  market: z.object({ name: z.string(), lines: z.array(z.string()), lane_id: z.string().nullable(), category: z.string() }),
  status: z.string(),
  status_label: z.string(),
  detail: z.string().nullable(),
})
const quote = z.object({
  quote_id: z.string(),
  premium_display: z.string(),
  total_cents: z.number(),
  lines: z.array(z.string()),
  is_revision: z.boolean(),
})
const offer = z.object({ presentation_id: z.string(), kind: z.string(), label: z.string(), document_url: z.string(), filename: z.string() })
const lane = z.object({
  submission_market_id: z.string(),
  market_id: z.string(),
  market_name: z.string(),
  program: z.string().nullable(),
  program_id: z.string().nullable(),
  program_category: z.string(),
  lines: z.array(z.string()),
  status: z.string(),
  status_label: z.string(),
  submit_ready: z.boolean(),
  gapped: z.boolean(),
  unmet_labels: z.array(z.string()),
  quotes: z.array(quote),
  source_offers: z.array(offer),
  bound: z.boolean(),
  chip: z.string(),
  next_step: z.string().nullable(),
})
const history = z.object({
  history_key: z.string(),
  market_name: z.string(),
  program: z.string(),
  outcome: z.string(),
  observed_at: z.string(),
})
const requirements = readinessTruth.extend({
  insured_name: z.string(),
  lines: z.array(z.string()),
  forms: z.array(z.string()),
  effective_date: z.string().nullable(),
  state: z.string(),
  marketing_status: z.string(),
  marketing_hint: z.string().nullable(),
  form_fill_active: z.boolean(),
  rail: z.object({ lanes: z.array(lane), quote_history: z.array(history), quote_history_unavailable: z.boolean() }).nullable(),
})
const submissionTruth = detailTruth
  .extend(bindTruth.shape)
  .partial()
  .extend({ submission_id: z.string(), events: z.array(event), messages: z.array(message), requirements })

/** What the sandbox answers at `GET /_sandbox/truth`. */
export const truthSchema = z.object({ account: z.string(), submissions: z.array(submissionTruth) })
export type Truth = z.output<typeof truthSchema>
type SubmissionTruth = Truth['submissions'][number]

/** A difference between the mirror and what the service shows. */
export interface Difference {
  readonly submissionId: string
  readonly table: string
  /** The record's key within the submission. */
  readonly key: string
  /** `missing` or `surplus` in the mirror, or the columns that differ. */
  readonly what: 'missing' | 'surplus' | readonly string[]
}

/** The result for one table. */
export interface Compared {
  readonly table: string
  /** Records that the service shows. */
  readonly shown: number
  readonly differences: readonly Difference[]
}

/** The rows that the mirror should have of one table and submission, with the columns that the truth has. */
interface Expected {
  readonly entity: Entity
  /** The key within the submission. */
  readonly key: readonly string[]
  readonly rows: readonly Row[]
  /** Which rows of the mirror count: none that are gone, or known from events alone. */
  readonly counts?: (row: Row) => boolean
}

/**
 * Compares the mirror with the service's truth, record by record. Submissions that the truth does not name are ignored.
 * @param account of the mirror's rows.
 */
export async function compareWithTruth(q: Query, account: string, truth: Truth): Promise<Compared[]> {
  const totals = new Map<string, { shown: number; differences: Difference[] }>()
  for (const submission of truth.submissions) {
    for (const expected of expectedOf(submission)) {
      const total = totals.get(expected.entity.table) ?? { shown: 0, differences: [] }
      totals.set(expected.entity.table, total)
      total.shown += expected.rows.length
      const stored = (await storedOf(q, account, submission.submission_id, expected)).filter(expected.counts ?? (() => true))
      total.differences.push(...compareRows(submission.submission_id, expected, stored))
    }
  }
  return [...totals].map(([table, total]) => ({ table, ...total }))
}

/** The rows of a submission; of a table that is not keyed by it also those that are expected, whichever submission named them first. */
async function storedOf(q: Query, account: string, submission_id: string, { entity, rows }: Expected): Promise<readonly Row[]> {
  if (entity.key.includes('submission_id')) return await q.selectWhere(entity, { account, submission_id })
  const [, id = ''] = entity.key
  const ids = new Set(rows.map((row) => row[id]))
  return (await q.selectWhere(entity, { account })).filter((row) => row['submission_id'] === submission_id || ids.has(row[id] ?? null))
}

function compareRows(submissionId: string, expected: Expected, stored: readonly Row[]): Difference[] {
  const keyOf = (row: Row) => expected.key.map((column) => String(row[column])).join(' ')
  const left = new Map(stored.map((row) => [keyOf(row), row]))
  const differences: Difference[] = []
  const note = (key: string, what: Difference['what']) => differences.push({ submissionId, table: expected.entity.table, key, what })
  for (const row of expected.rows) {
    const key = keyOf(row)
    const found = left.get(key)
    left.delete(key)
    if (!found) {
      note(key, 'missing')
      continue
    }
    const valueIn = (of: Row, column: string) => (expected.entity.fields[column]?.link ? unsigned(of[column]) : of[column]) ?? null
    const columns = Object.keys(row).filter((column) => !sameValue(valueIn(found, column), valueIn(row, column)))
    if (columns.length > 0) note(key, columns)
  }
  for (const key of left.keys()) note(key, 'surplus')
  return differences
}

/** The service may sign a link for each answer. */
function unsigned(link: Json | undefined): Json | undefined {
  return typeof link === 'string' ? link.split('?', 1)[0] : link
}

/** An empty list equals null: the mirror need not distinguish them. */
function sameValue(a: Json, b: Json): boolean {
  const plain = (value: Json) => (Array.isArray(value) && value.length === 0 ? null : value)
  return sameJson(plain(a), plain(b))
}

function expectedOf(truth: SubmissionTruth): Expected[] {
  const { insured_name, lines, forms, effective_date, state, marketing_status, marketing_hint, form_fill_active, rail } = truth.requirements
  const submission: Row = { insured_name, lines, forms, effective_date, state, marketing_status, marketing_hint, form_fill_active }
  const details = detailTruth.safeParse(truth).data
  const binds = bindTruth.safeParse(truth).data
  if (details) {
    submission['outstanding_form_fill_active'] = details.outstanding.form_fill_active
    submission['outstanding_answerable_count'] = details.outstanding.answerable_count
    submission['outstanding_markets_total'] = details.outstanding.markets_total
  }
  return [
    { entity: submissions, key: [], rows: [submission] },
    { entity: marketEvents, key: ['event_id'], rows: truth.events.map(eventRow) },
    { entity: threadMessages, key: ['message_id'], rows: truth.messages.map(messageRow) },
    { entity: threadAttachments, key: ['message_id', 'position'], rows: truth.messages.flatMap(attachmentRows) },
    ...(rail === null ? [] : expectedOfRail(rail)),
    ...expectedOfLists({
      ...shownReadiness(truth.requirements),
      ...(details && shownDetails(details, truth.requirements.carrier_api_sessions)),
      ...(binds && shownBinds(binds)),
      // Without a rail the originals that were shown last stay.
      ...(binds &&
        rail !== null && { documents: shownDocuments({ messages: truth.messages, policies: binds.policies, offers: offersOf(rail) }) }),
    }),
  ]
}

/** Tables whose rows follow from the descriptor. Nothing is concluded about a list that the truth does not show. */
function expectedOfLists(shown: ShownLists): Expected[] {
  return Object.entries(shown).flatMap(([table, items]): Expected[] => {
    const entity = entityNamed(table)
    if (entity === null || items === undefined) return []
    return [{ entity, key: ownKey(entity), rows: items.map((item) => rowOf(entity, item)), counts: isPresent }]
  })
}

function offersOf(rail: NonNullable<SubmissionTruth['requirements']['rail']>): z.output<typeof offer>[] {
  return rail.lanes.flatMap(({ source_offers }) => source_offers)
}

function isPresent(row: Row): boolean {
  return (row['gone_at'] ?? null) === null
}

function eventRow(e: z.output<typeof event>): Row {
  return {
    event_id: e.id,
    type: e.type,
    occurred_at: parseTime(e.occurred_at),
    market_name: e.market.name,
    market_lines: e.market.lines,
    lane_id: e.market.lane_id,
    category: e.market.category,
    status: e.status,
    status_label: e.status_label,
    detail: e.detail,
  }
}

function messageRow(m: z.output<typeof message>): Row {
  return {
    message_id: m.id,
    channel: m.channel,
    direction: m.direction,
    kind: m.kind,
    occurred_at: parseTime(m.occurred_at),
    subject: m.subject,
    body_text: m.body_text,
    from_address: m.from,
    to_addresses: m.to,
    in_reply_to: m.in_reply_to,
  }
}

function attachmentRows(m: z.output<typeof message>): Row[] {
  return m.attachments.map(({ name, download_path }, position) => ({ message_id: m.id, position, name, download_path }))
}

function expectedOfRail(rail: NonNullable<SubmissionTruth['requirements']['rail']>): Expected[] {
  const expected: Expected[] = [
    {
      entity: lanes,
      key: ['lane_id'],
      rows: rail.lanes.map(({ submission_market_id, quotes: _quotes, source_offers: _offers, ...columns }) => ({
        lane_id: submission_market_id,
        ...columns,
      })),
      counts: (row) => isPresent(row) && row['state_source'] === 'rail',
    },
    {
      entity: quotes,
      key: ['lane_id', 'quote_id'],
      rows: rail.lanes.flatMap((of) => of.quotes.map((each) => ({ lane_id: of.submission_market_id, ...each }))),
      counts: isPresent,
    },
    {
      entity: sourceOffers,
      key: ['lane_id', 'presentation_id'],
      rows: rail.lanes.flatMap((of) => of.source_offers.map((each) => ({ lane_id: of.submission_market_id, ...each }))),
      counts: isPresent,
    },
  ]
  if (rail.quote_history_unavailable) return expected
  const rows = rail.quote_history.map((item) => ({ ...item, observed_at: parseTime(item.observed_at) }))
  return [...expected, { entity: quoteHistory, key: ['history_key'], rows, counts: isPresent }]
}
