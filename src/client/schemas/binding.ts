import { z } from 'zod'
import { day, flag, known, moment, producerEmail, sentUuid, text, texts, uuid } from './fields.ts'

export const assumptionSchema = z
  .looseObject({
    key: text('Key for `attest_assumptions`'),
    label: text('The assumption in words'),
    value: z.unknown().describe('The exact value asserted to the carrier; absent when there is none').optional(),
  })
  .describe('An unconfirmed assumption')

export const contingencySchema = z
  .looseObject({
    id: uuid('The contingency'),
    kind: known(['question', 'signed_form', 'loss_runs', 'file_upload'], 'Kind of the contingency'),
    label: text("The carrier's wording"),
    status: known(['pending', 'satisfied', 'waived'], 'Status of the contingency'),
    required: flag('Whether it must be satisfied'),
    upload_path: text('Path to POST a PDF to while the request is drafted; null afterwards').nullable(),
    esign_status: text('State of a signature request started in the portal, for example sent, completed, queued_for_review').nullable(),
  })
  .partial()
  .describe('A condition of the carrier before it binds')

export const bindRequestSchema = z
  .looseObject({
    bind_request_id: uuid('The bind request'),
    submission_id: uuid('The submission'),
    status: known(
      ['drafted', 'submitted', 'sent', 'binder_received', 'bound', 'bind_failed', 'cancelled', 'declined', 'expired'],
      'Status of the bind request',
    ),
    status_label: text('The status in words'),
    quote_id: uuid('The quote').nullable(),
    payment_option: text('The payment plan').nullable(),
    requested_at: moment('When it was requested'),
    requested_by: text('The producing broker').nullable(),
    effective_date: day('First day of cover').nullable(),
    policy_id: uuid('Set once placed').nullable(),
    unconfirmed_assumptions: z.array(assumptionSchema).describe('Assumptions to attest before the request can continue'),
    contingencies: z.array(contingencySchema).describe('Conditions of the carrier'),
    next_steps: texts('What to do, in order'),
  })
  .partial({ quote_id: true, payment_option: true, requested_by: true, effective_date: true, policy_id: true })
  .describe('A request to bind a quote')
export type BindRequest = z.output<typeof bindRequestSchema>

export const bindRequestCreateSchema = z
  .looseObject({
    quote_id: sentUuid('A released firm quote'),
    payment_option: text('The payment plan').optional(),
    attest_assumptions: z
      .union([z.boolean(), z.array(z.string())])
      .meta({ description: 'Whether the agent confirmed all assumptions, or the keys that were confirmed', default: false })
      .optional(),
    producer_email: producerEmail.optional(),
  })
  .describe('A draft of a bind request')

export const contingencyUploadFormSchema = z
  .looseObject({
    file: z.string().meta({ description: 'A PDF of at most 25 MB', format: 'binary' }),
    notes: text('Notes').optional(),
    producer_email: producerEmail.optional(),
  })
  .describe('A file for a contingency')
