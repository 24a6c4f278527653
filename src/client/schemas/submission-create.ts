import { z } from 'zod'
import { applicantSchema, locationSchema, priorCarrierSchema } from './applicant.ts'
import { filled, producerEmail, sentDay, sentUuid, text, texts, uuid } from './fields.ts'

const dollars = (description: string) => z.int().min(0).describe(`${description}, whole dollars`)

/**
 * Body for creating a submission from structured data. More properties may exist: the specification
 * shows none after `partner_program_ids`.
 */
export const submissionCreateSchema = z
  .looseObject({
    applicant: applicantSchema,
    narrative: filled('Description of the operations; appetite matching depends on it'),
    lines_of_business: texts('Canonical slugs of lines, or common aliases (gl, wc)'),
    effective_date: sentDay('First day of cover'),
    primary_state: z
      .string()
      .length(2)
      .describe('State of 2 letters; must agree with the mailing address. Default: the state of that address'),
    producer_email: producerEmail,
    insured_id: sentUuid('An existing insured of the brokerage'),
    locations: z
      .array(locationSchema)
      .max(250)
      .refine(
        (items) => new Set(items.map(({ location_number }) => location_number)).size === items.length,
        'location numbers must be unique',
      )
      .describe('At most 250 locations, whose numbers are unique'),
    requested_coverages: texts('Canonical slugs; an empty list means that the broker chose none'),
    property_tiv_total: dollars('Total insured value of property'),
    auto_vehicle_count: z.int().min(0).describe('Number of vehicles'),
    wc_total_annual_payroll: dollars('Total annual payroll'),
    prior_carriers: z.array(priorCarrierSchema).describe('Earlier policies'),
    line_target_premiums: z
      .record(z.string(), z.int())
      .describe('Target annual premium of each line, whole dollars, by line slug; values that are not positive are dropped'),
    structure_to_target: z.boolean().meta({ description: 'Asks for options structured to hit the targets', default: false }),
    hold: z.boolean().meta({ description: 'Defers marketing until finalize', default: false }),
    mode: z.literal('rater').describe('Partner integrations only: quotes exactly `partner_program_ids`, held until finalize'),
    partner_program_ids: z
      .array(sentUuid('A program'))
      .min(1)
      .max(40)
      .refine((ids) => new Set(ids).size === ids.length, 'partner_program_ids must be unique')
      .meta({ description: 'With `mode: rater` only: 1 to 40 programs to quote, unique', uniqueItems: true }),
  })
  .partial()
  .required({ applicant: true, narrative: true })
  .meta({ description: 'A new submission', 'x-not-shown': 'Properties after `partner_program_ids`' })

/** The specification says only that the answer identifies the submission. */
export const createdSubmissionSchema = z
  .looseObject({ submission_id: uuid('The created submission'), id: uuid('The created submission') })
  .partial()
  .meta({ description: 'Identifies the created submission', 'x-not-shown': 'The name of the field, and all others' })
export type CreatedSubmission = z.output<typeof createdSubmissionSchema>

/**
 * Form for creating a submission from free text and PDFs. The specification shows no
 * field names except `producer_email`.
 */
export const intakeFormSchema = z
  .looseObject({
    producer_email: producerEmail,
    text: text('Free text about the risk'),
    files: z.array(z.string().meta({ format: 'binary' })).describe('PDFs'),
  })
  .partial()
  .meta({ description: 'Free text and/or PDFs about the risk', 'x-not-shown': 'The names of all form fields but `producer_email`' })

/** Answer of the call `finalize`. The service matches markets after this answer. */
export const finalizeAnswerSchema = z
  .looseObject({
    status: text('The submission is queued'),
    marketing_status: text('Marketing status after the release'),
    typical_wait_seconds: z.int().describe('Typical duration of matching, seconds'),
    detail: text('The same in words'),
  })
  .partial()
  .describe('The release of a held submission')
export type FinalizeAnswer = z.output<typeof finalizeAnswerSchema>
