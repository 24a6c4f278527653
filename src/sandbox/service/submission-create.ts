import { z } from 'zod'
import { canonicalLine } from '../world/catalogue.ts'

const text = (max: number) => z.string().max(max).optional()
const count = z.int().min(0).optional()
const date = z.iso.date().optional()

const address = z.object({
  line1: z.string().min(1),
  line2: z.string().optional(),
  city: z.string().min(1),
  county: z.string().optional(),
  state: z.string().length(2),
  zip: z.string().min(1),
  zip4: z.string().optional(),
  country: z.string().default('US'),
})

const applicant = z.object({
  insured_name: z.string().min(1).max(256),
  dba_name: z.string().optional(),
  entity_type: z.string().optional(),
  fein_or_ssn: z.string().optional(),
  nature_of_business: z.string().optional(),
  date_business_started: date,
  business_phone: z.string().optional(),
  business_email: z.string().optional(),
  website: z.string().optional(),
  contact_first_name: z.string().optional(),
  contact_last_name: z.string().optional(),
  contact_title: text(128),
  contact_phone: z.string().optional(),
  contact_email: z.string().optional(),
  naics: z.string().optional(),
  sic: text(64),
  gl_code: text(64),
  mailing_address: address.optional(),
})

const location = z.object({
  location_number: z.int().min(1),
  address,
  description_of_operations: text(10_000),
  employees_full_time: count,
  employees_part_time: count,
  annual_revenue_at_location: z.number().min(0).optional(),
})

const priorCarrier = z.object({
  coverage_category: z.string().optional(),
  carrier_name: z.string().optional(),
  policy_number: z.string().optional(),
  effective_date: date,
  expiration_date: date,
})

const isUnique = (items: readonly unknown[]) => new Set(items).size === items.length

/** A line by its canonical slug or a common alias. One that the service does not know stays as it is: no market takes it. */
const line = z
  .string()
  .min(1)
  .transform((name) => canonicalLine(name) ?? name)

/** The body of structured submission creation ("SubmissionCreate"). */
export const submissionCreate = z
  .object({
    applicant,
    narrative: z.string().refine((value) => value.trim() !== '', 'must not be blank'),
    lines_of_business: z.array(line).optional(),
    effective_date: date,
    primary_state: z
      .string()
      .regex(/^[A-Za-z]{2}$/, 'must be 2 letters')
      .transform((state) => state.toUpperCase())
      .optional(),
    producer_email: z.string().optional(),
    insured_id: z.uuid().optional(),
    locations: z
      .array(location)
      .max(250)
      .refine((all) => isUnique(all.map((one) => one.location_number)), 'location numbers must be unique')
      .optional(),
    requested_coverages: z.array(z.string()).optional(),
    property_tiv_total: count,
    auto_vehicle_count: count,
    wc_total_annual_payroll: count,
    prior_carriers: z.array(priorCarrier).optional(),
    line_target_premiums: z
      .record(z.string(), z.int())
      // "Non-positive values are dropped."
      .transform((targets) => Object.fromEntries(Object.entries(targets).filter(([, dollars]) => dollars >= 1)))
      .optional(),
    structure_to_target: z.boolean().default(false),
    hold: z.boolean().default(false),
    mode: z.literal('rater').optional(),
    partner_program_ids: z.array(z.uuid()).min(1).max(40).refine(isUnique, 'must be unique').optional(),
  })
  .superRefine((body, context) => {
    const problem = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    if (body.mode !== 'rater') {
      if (body.partner_program_ids) problem('partner_program_ids', 'only with mode rater')
      return
    }
    if (!body.partner_program_ids) problem('partner_program_ids', 'required with mode rater')
    if (!body.lines_of_business?.length) problem('lines_of_business', 'required with mode rater')
    if (body.primary_state === undefined) problem('primary_state', 'required with mode rater')
  })

export type SubmissionCreate = z.output<typeof submissionCreate>
