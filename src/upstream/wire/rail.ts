import { z } from 'zod'
import type { RailLane, Requirements } from '../../model/records.ts'
import { parseUuid } from '../../model/uuid.ts'
import { cents, flag, id, items, keyOf, list, rawOf, readAll, required, said, text, textOrJson, time } from './fields.ts'

/** Readers of the requirements view's `rail`: lanes, their quotes and source offers, and the quote history. */

const rail = z.looseObject({
  lanes: z.array(z.unknown()),
  quote_history: items,
  quote_history_unavailable: flag,
})

const lane = z.looseObject({
  submission_market_id: required(parseUuid),
  market_id: id,
  market_name: text,
  program: text,
  program_id: id,
  program_category: text,
  lines: list,
  status: text,
  status_label: text,
  submit_ready: flag,
  gapped: flag,
  unmet_labels: list,
  quotes: items,
  source_offers: items,
  bound: flag,
  chip: text,
  carrier_api_session_ids: list,
  next_step: textOrJson,
})

const quote = z.looseObject({ quote_id: required(keyOf), premium_display: text, total_cents: cents, lines: list, is_revision: flag })

const sourceOffer = z.looseObject({ presentation_id: required(keyOf), kind: text, label: text, document_url: text, filename: text })

const historyItem = z.looseObject({ history_key: required(keyOf), market_name: text, program: text, outcome: text, observed_at: time })

type Rail = NonNullable<Requirements['rail']>

/**
 * @returns the rail, or null when it is null, absent, or has no list of lanes. Null means unknown (trap 64), and so does a history that is
 * missing or declared unavailable (trap 65).
 */
export function readRail(raw: unknown): Rail | null {
  const read = rail.safeParse(raw).data
  if (!read) return null
  const unreadable: string[] = []
  const lanes = readAll(
    read.lanes,
    (item) => readLane(item, unreadable),
    (item) => item.lane.lane_id,
  )
  const history = read.quote_history_unavailable ? null : read.quote_history
  const items = readAll(history, readHistoryItem, (item) => item.history_key)
  return {
    lanes: lanes.items,
    quoteHistory: history && items.items,
    whole: { lanes: lanes.whole, quoteHistory: items.whole },
    unreadable: [...lanes.unreadable, ...unreadable, ...items.unreadable],
  }
}

/** @param unreadable collects the lane's quotes and offers that cannot be read. */
function readLane(raw: unknown, unreadable: string[]): RailLane | null {
  const read = lane.safeParse(raw).data
  if (!read) return null
  const quotes = readAll(read.quotes, readQuote, (item) => item.quote_id)
  const offers = readAll(read.source_offers, readSourceOffer, (item) => item.presentation_id)
  unreadable.push(...quotes.unreadable, ...offers.unreadable)
  return {
    lane: { ...said(laneColumns(read), raw), lane_id: read.submission_market_id, raw: rawOf(raw) },
    quotes: quotes.items,
    sourceOffers: offers.items,
    whole: { quotes: quotes.whole, sourceOffers: offers.whole },
  }
}

function laneColumns(read: z.output<typeof lane>) {
  const { market_id, market_name, program, program_id, program_category, lines, status, status_label } = read
  const { submit_ready, gapped, unmet_labels, bound, chip, carrier_api_session_ids, next_step } = read
  return {
    ...{ market_id, market_name, program, program_id, program_category, lines, status, status_label },
    ...{ submit_ready, gapped, unmet_labels, bound, chip, carrier_api_session_ids, next_step },
  }
}

function readQuote(raw: unknown): RailLane['quotes'][number] | null {
  const read = quote.safeParse(raw).data
  if (!read) return null
  const { quote_id, premium_display, total_cents, lines, is_revision } = read
  return { ...said({ premium_display, total_cents, lines, is_revision }, raw), quote_id, raw: rawOf(raw) }
}

function readSourceOffer(raw: unknown): RailLane['sourceOffers'][number] | null {
  const read = sourceOffer.safeParse(raw).data
  if (!read) return null
  const { presentation_id, kind, label, document_url, filename } = read
  return { ...said({ kind, label, document_url, filename }, raw), presentation_id, raw: rawOf(raw) }
}

function readHistoryItem(raw: unknown): NonNullable<Rail['quoteHistory']>[number] | null {
  const read = historyItem.safeParse(raw).data
  if (!read) return null
  const { history_key, market_name, program, outcome, observed_at } = read
  return { ...said({ market_name, program, outcome, observed_at }, raw), history_key, raw: rawOf(raw) }
}
