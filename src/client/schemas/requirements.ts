import { z } from 'zod'
import { day, flag, integer, known, moment, programCategory, text, texts, uuid } from './fields.ts'
import { railSchema } from './rail.ts'

export const marketReadinessSchema = z
  .looseObject({
    market_name: text('Name of the market'),
    ready: flag('Whether it can be quoted'),
    needs_from_you: texts('What only the broker can supply'),
    hedge_obtains: texts('What the service obtains itself'),
    lane_id: uuid('The lane').nullable(),
    program: text('The program').nullable(),
    program_category: programCategory,
    category_label: text('The category in words').nullable(),
  })
  .partial()
  .describe('Readiness of a market')

export const carrierSessionSchema = z
  .looseObject({
    session_id: uuid('The session'),
    carrier_slug: text('The carrier'),
    program: text('The program'),
    status: text('Status of the session'),
    outcome: text('Outcome of the session').nullable(),
    completion_pct: z.number().describe('Completed share; the scale (1 or 100) is not shown'),
    missing_questions: z.array(z.looseObject({})).meta({ description: 'Open questions', 'x-not-shown': 'The shape of an item' }),
    has_quote: flag('Whether there is a quote'),
  })
  .partial()
  .describe('A carrier-API quote session')

export const requirementItemSchema = z
  .looseObject({
    key: text('Key of the requirement').nullable(),
    label: text('The requirement in words'),
    severity: known(['hard', 'preferred'], 'Severity of the requirement'),
    resolution: known(['broker', 'auto', 'internal'], 'Who resolves it'),
    repr: known(['structured', 'free_text', 'form', 'file'], 'Form of the answer'),
    form_key: text('The form').nullable(),
    due_stage: known(['quote', 'bind'], 'When it is due'),
    satisfied: flag('Whether it is satisfied').nullable(),
    blocks_submission: flag('Whether it blocks the submission').nullable(),
  })
  .partial()
  .describe('A requirement of a program')

const items = (description: string) => z.array(requirementItemSchema).describe(description)

export const programAssessmentSchema = z
  .looseObject({
    submission_market_id: uuid('The lane'),
    market_name: text('Name of the market'),
    program_id: uuid('The program'),
    program_display_name: text('Name of the program'),
    channel: known(['email', 'api', 'portal'], 'Channel for submissions to the program'),
    program_category: programCategory,
    enforcement: known(['enforce', 'report_only', 'none'], 'Whether requirements are enforced'),
    submit_ready: flag('Whether it can be submitted'),
    met: items('Requirements that are met'),
    unmet: items('Requirements that are not'),
    deferred: items('Requirements that are due later'),
    evaluated_at: moment('Time of the evaluation'),
  })
  .partial()
  .describe('The assessment of a program')

export const assessmentSchema = z
  .looseObject({
    submission_id: uuid('The submission'),
    generated_at: moment('Creation time'),
    submitted_or_ready: texts('Markets that are submitted or ready'),
    gapped: texts('Markets that lack something'),
    programs: z.array(programAssessmentSchema).describe('The programs'),
  })
  .partial()
  .describe('The assessment of a submission')

const documentOnFileSchema = z
  .looseObject({ kind: text('Kind of the document'), kind_label: text('The kind in words'), display_name: text('Name of the document') })
  .partial()
  .describe('A document on file')

export const requirementsViewSchema = z
  .looseObject({
    submission_id: uuid('The submission'),
    insured_name: text('Name of the insured'),
    lines: texts('Lines of business'),
    effective_date: day('First day of cover'),
    state: text('State'),
    forms: texts('Keys of the forms'),
    marketing_status: known(
      ['not_started', 'matching', 'matched', 'no_markets_matched'],
      'An empty list of markets while `matching` means still matching',
    ),
    marketing_hint: text('Suggested action').nullable(),
    form_fill_active: flag('A live form-fill session owns the form set'),
    markets: z.array(marketReadinessSchema).describe('The markets'),
    carrier_api_sessions: z.array(carrierSessionSchema).describe('The carrier sessions'),
    documents_on_file: z.array(documentOnFileSchema).describe('The documents'),
    assessment: assessmentSchema.nullable(),
    rail: railSchema.nullable(),
  })
  .partial()
  .describe('The requirements view of a submission')
export type RequirementsView = z.output<typeof requirementsViewSchema>

const outstandingItemSchema = z
  .looseObject({
    key: text('Key of the item'),
    label: text('The item in words'),
    source: text('Source of the item'),
    input: known(['text', 'number', 'bool', 'select', 'date'], 'Type of the widget, such as these').meta({ 'x-not-shown': 'Other types' }),
    options: z
      .array(z.looseObject({ value: z.unknown().describe('The value'), label: text('The value in words') }).partial())
      .describe('Values to choose from'),
    markets: texts('Names of the markets that it unlocks'),
    how_to_provide: text('How to provide it'),
  })
  .partial()
  .describe('An outstanding item')

export const outstandingSchema = z
  .looseObject({
    submission_id: uuid('The submission'),
    form_fill_active: flag('A live form-fill session owns the form set'),
    items: z.array(outstandingItemSchema).describe('Unmet requirements and open questions, each once'),
    answerable_count: integer('Number of answerable items'),
    markets_total: integer('Number of markets'),
  })
  .partial()
  .describe('Outstanding items')
export type Outstanding = z.output<typeof outstandingSchema>
