import { carrierApiSessions } from '../../model/entities/carrier-api-sessions.ts'
import { documentsOnFile } from '../../model/entities/documents-on-file.ts'
import { lanes } from '../../model/entities/lanes.ts'
import { marketReadiness } from '../../model/entities/market-readiness.ts'
import { outstandingItems } from '../../model/entities/outstanding-items.ts'
import { programAssessments } from '../../model/entities/program-assessments.ts'
import { quoteHistory } from '../../model/entities/quote-history.ts'
import { quotes } from '../../model/entities/quotes.ts'
import { requirementItems } from '../../model/entities/requirement-items.ts'
import { sourceOffers } from '../../model/entities/source-offers.ts'
import { submissions } from '../../model/entities/submissions.ts'
import type { Row } from '../../model/entity.ts'
import { isObject } from '../../model/json.ts'
import type { StateRead } from '../../model/reads.ts'
import { parseUuid } from '../../model/uuid.ts'
import type { View } from '../../model/view.ts'
import { rawWithout } from './fields.ts'
import { itemsIn, Lists, readList } from './lists.ts'
import { rowOf } from './row.ts'

const OF_MARKETS = new Set(['lanes', 'quote_history', 'market_readiness', 'program_assessments', 'carrier_api_sessions'])

/**
 * Reads the requirements view.
 * @returns null if the answer has no submission id. Without this check, an answer of another shape would
 * clear every column.
 */
export function readRequirements(raw: unknown): View | null {
  const submission = submissionIn(raw, 'requirements')
  if (submission === null || !isObject(raw)) return null
  const found = new Lists()
  const hasLanes = readRail(found, raw['rail'])
  found.read(marketReadiness, itemsIn(raw, 'markets'))
  found.read(carrierApiSessions, itemsIn(raw, 'carrier_api_sessions'))
  found.read(documentsOnFile, itemsIn(raw, 'documents_on_file'))
  for (const { row, item } of found.read(programAssessments, itemsIn(raw['assessment'], 'programs'))) {
    readRequirementItems(found, { lane_id: row['lane_id'] ?? null, program_key: row['program_key'] ?? null }, item)
  }
  // During matching, an empty list means "not yet" (trap 62). Stored rows are then left unchanged.
  const isMatching = submission['marketing_status'] === 'matching'
  const isNotYet = ({ table, rows }: View['lists'][number]) => isMatching && OF_MARKETS.has(table) && (rows.length === 0 || !hasLanes)
  const lists = found.lists.map((list) => (isNotYet(list) ? { ...list, whole: false } : list))
  return { submission, lists, unreadable: found.unreadable }
}

/**
 * Reads the outstanding requirements.
 * @returns null if the answer has no submission id.
 */
export function readOutstanding(raw: unknown): View | null {
  const submission = submissionIn(raw, 'outstanding')
  if (submission === null || !isObject(raw)) return null
  const items = itemsIn(raw, 'items')
  const { lists, unreadable } = readList(outstandingItems, items)
  return { submission: items === null ? submission : { ...submission, outstanding_raw: rawWithout('items', raw) }, lists, unreadable }
}

function submissionIn(raw: unknown, read: StateRead): Row | null {
  return isObject(raw) && parseUuid(raw['submission_id']) !== null ? rowOf(submissions, raw, read) : null
}

/**
 * Reads lanes, quotes, offers, and quote history. Without a list of lanes, stored rows are left unchanged (trap 64).
 * The same applies to a missing or unavailable history (trap 65).
 * @returns whether the rail has lanes.
 */
function readRail(found: Lists, rail: unknown): boolean {
  const list = itemsIn(rail, 'lanes')
  if (list === null || !isObject(rail)) return false
  const read = found.read(lanes, list)
  for (const { row, item } of read) {
    const of = { lane_id: row['lane_id'] ?? null }
    found.read(quotes, itemsIn(item, 'quotes'), { of })
    found.read(sourceOffers, itemsIn(item, 'source_offers'), { of })
  }
  found.read(quoteHistory, rail['quote_history_unavailable'] === true ? null : itemsIn(rail, 'quote_history'))
  return read.length > 0
}

/** Merges a program's lists `met`, `unmet`, and `deferred` into one, because requirements move between these lists. */
function readRequirementItems(found: Lists, of: Row, program: unknown): void {
  const lists = ['met', 'unmet', 'deferred'].map((result) => ({ result, items: itemsIn(program, result) }))
  const items = lists.flatMap(({ result, items }) => (items ?? []).map((item) => ({ result, item })))
  const isThere = lists.some(({ items }) => items !== null)
  found.read(requirementItems, isThere ? items.map(({ item }) => item) : null, {
    of,
    addColumns: (_, position) => ({ result: items[position]?.result ?? null }),
    isWhole: lists.every(({ items }) => items !== null),
  })
}
