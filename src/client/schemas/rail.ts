import { z } from 'zod'
import { flag, integer, known, moment, programCategory, text, texts, uuid } from './fields.ts'

export const railQuoteSchema = z
  .looseObject({
    quote_id: uuid('The quote'),
    premium_display: text('The premium as displayed'),
    total_cents: integer('The total, integer cents'),
    lines: texts('Lines of business'),
    is_revision: flag('Whether it replaces an earlier quote'),
  })
  .partial()
  .describe('A released quote')

export const sourceOfferSchema = z
  .looseObject({
    presentation_id: text('The presentation'),
    kind: known(['quote', 'indication'], 'Kind of the offer'),
    label: text('The offer in words'),
    document_url: text("Address of the carrier's document"),
    filename: text('Name of the file'),
  })
  .partial()
  .describe("A carrier's original document")

export const laneSchema = z
  .looseObject({
    submission_market_id: uuid('The lane id used across the API'),
    market_id: uuid('The market'),
    market_name: text('Name of the market'),
    program: text('The program'),
    program_id: uuid('The program'),
    program_category: programCategory,
    lines: texts('Lines of business'),
    status: text('Status of the lane'),
    status_label: text('The status in words'),
    submit_ready: flag('Whether it can be submitted'),
    gapped: flag('Held for something only the broker can supply'),
    unmet_labels: texts('What is missing, in words'),
    quotes: z.array(railQuoteSchema).describe('The quotes'),
    source_offers: z.array(sourceOfferSchema).describe('Carrier-original documents'),
    bound: flag('Whether it is bound'),
    chip: known(['bound', 'quoted', 'not_available', 'needs_info', 'in_progress'], 'State of the lane'),
    carrier_api_session_ids: texts('The carrier sessions'),
    next_step: text('Next step').nullable(),
  })
  .partial()
  .describe('A lane: one market of the submission')

const quoteHistoryItemSchema = z
  .looseObject({
    history_key: text('Key of the item'),
    market_name: text('Name of the market'),
    program: text('The program'),
    outcome: known(['expired', 'invalid'], 'Outcome of the quote'),
    observed_at: moment('Time of the observation'),
  })
  .partial()
  .describe('A past quote')

export const railSchema = z
  .looseObject({
    generated_at: moment('Creation time'),
    lanes: z.array(laneSchema).describe('The lanes'),
    quote_history: z.array(quoteHistoryItemSchema).describe('Past quotes'),
    quote_history_unavailable: flag('Whether the history could not be read'),
  })
  .partial()
  .describe('The lanes of a submission')
