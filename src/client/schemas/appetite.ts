import { z } from 'zod'
import { flag, integer, programCategory, sentUuid, text, texts, unshown, uuid } from './fields.ts'

/**
 * Text for schemas whose fields the specification doesn't show. Client generators need fields, so these schemas
 * have the emulator's fields.
 */
const EMULATED = "these are the emulator's"

/** Statistics of the time from first marketing to first quoting. */
const turnaroundSchema = z
  .looseObject({
    carrier: text('The carrier'),
    quotes_counted: integer('Number of quotes counted'),
    median_hours: z.number().describe('Median, hours'),
    avg_hours: z.number().describe('Average, hours'),
    typical_turnaround: text('The same in words'),
    pct_within_1d: integer('Within 1 day, percent'),
    pct_within_2d: integer('Within 2 days, percent'),
    pct_within_3d: integer('Within 3 days, percent'),
    pct_within_5d: integer('Within 5 days, percent'),
    pct_within_7d: integer('Within 7 days, percent'),
  })
  .partial()
  .describe('Turnaround of the carrier')

const lineSchema = z
  .looseObject({ slug: text('Slug of the line'), label: text('Name of the line') })
  .partial()
  .describe('A line of business')

const appetiteMarketSchema = z
  .looseObject({
    market_id: uuid('The market').nullable(),
    carrier_slug: text('The carrier').nullable(),
    name: text('Name of the market'),
    logo_url: text('Address of the logo').nullable(),
    lines: z.array(lineSchema).describe('Lines of business'),
    matched_program_keys: texts('Keys of the programs that match'),
    matched_program_names: texts('Names of the programs that match'),
    turnaround: turnaroundSchema.nullable(),
  })
  .partial()
  .describe('A market with appetite')

export const appetiteSchema = z
  .looseObject({
    query: text('Search text'),
    state: text('Requested state').nullable(),
    lob: text('Requested line').nullable(),
    results: z.array(appetiteMarketSchema).describe('The markets'),
  })
  .partial()
  .describe('Which markets have appetite')
export type Appetite = z.output<typeof appetiteSchema>

export const appetiteSearchSchema = z
  .looseObject({ query: text('Search text'), state: text('State'), lines: texts('Lines of business') })
  .partial()
  .describe('A search for appetite')
export type AppetiteSearch = z.output<typeof appetiteSearchSchema>

const rankedMarketSchema = z
  .looseObject({
    rank: integer('Place in the ranking, from 1'),
    market_id: uuid('The market'),
    name: text('Name of the market'),
    category: programCategory,
    category_label: text('The category in words'),
    programs: z
      .array(
        z
          .looseObject({
            program_id: uuid('The program'),
            name: text('Name of the program'),
            lines: z.array(lineSchema).describe('Its lines'),
          })
          .partial(),
      )
      .describe('Programs that match'),
  })
  .partial()
  .describe('A market of the ranking')

export const appetiteRankingSchema = z
  .looseObject({
    query: text('Search text'),
    state: text('Requested state').nullable(),
    lines: texts('Requested lines'),
    results: z.array(rankedMarketSchema).describe('The markets, the best first'),
  })
  .partial()
  .meta({ description: 'Ranked markets with matched programs and category', 'x-not-shown': `All fields; ${EMULATED}` })

export const programLineSchema = z
  .looseObject({
    program_id: sentUuid('The program'),
    lob_slug: text('Canonical slug of a line that the program lists'),
    enabled: z.boolean().describe('Whether the line is on'),
  })
  .describe('Turns one line of a program on or off')
export type ProgramLine = z.output<typeof programLineSchema>

const accessibleProgramSchema = z
  .looseObject({
    program_id: uuid('The program'),
    market_id: uuid('The market'),
    market_name: text('Name of the market'),
    program: text('Name of the program'),
    program_category: programCategory,
    enabled: flag('Whether a line is on'),
    lines: z
      .array(z.looseObject({ lob_slug: text('Slug of the line'), enabled: flag('Whether it is on') }).partial())
      .describe('The lines that the program lists'),
  })
  .partial()
  .describe('A program')

export const marketAccessSchema = z
  .looseObject({ programs: z.array(accessibleProgramSchema).describe('All programs') })
  .partial()
  .meta({ description: 'The refreshed market-access table', 'x-not-shown': `All fields; ${EMULATED}` })

export const selectionSchema = unshown('The refreshed selection')

export const policySchema = unshown(
  "Full policy detail: identifiers, coverage lines, term, carrier and underwriting paper, premium breakdown, the broker's commission, payment terms, and downloadable documents",
)
export const insuredSchema = unshown(
  "One insured: canonical identity, active contacts, and the brokerage's submissions and bound policies for it",
)
