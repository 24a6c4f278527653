import { z } from 'zod'
import { submissionCreateSchema } from '../../client/schemas/submission-create.ts'
import { canonicalLine, programOf } from '../world/catalogue.ts'
import { insuredIdByName, uuidOf } from '../world/ids.ts'
import type { Plain, PlainObject } from '../world/plain.ts'
import type { Submission } from '../world/submission.ts'
import { MATCHING_S } from './life.ts'
import type { BuiltParts } from './parts.ts'
import { invalid, parseBody, Refusal } from './refusal.ts'
import type { Caller } from './tokens.ts'
import type { UploadedFile } from './uploads.ts'

/**
 * Creates a submission. Starts marketing, unless the body has `hold` or `mode: rater`.
 * @throws Refusal in these cases:
 * - the body is invalid (422)
 * - `mode: rater` without a partner's token (403)
 * - `insured_id` is unknown (404)
 * - a live submission for the insured exists (409 `service_file_exists`)
 */
export function createSubmission(parts: BuiltParts, caller: Caller, input: unknown, atMs: number): Submission {
  const isRater = (input as { mode?: unknown } | null)?.mode === 'rater'
  if (isRater) parts.authority.requirePartner(caller)
  const body = parseBody(submissionCreate, input)
  const producer = parts.authority.attributed(caller, body.producer_email)
  const state = stateOf(body)
  const { account } = caller
  const all = [...parts.world.submissions(account.name).values()]
  if (body.insured_id !== undefined && !all.some((one) => one.insuredId === body.insured_id))
    throw new Refusal('unknown_insured', 'Insured not found')
  for (const id of body.partner_program_ids ?? []) if (!programOf(id)) throw invalid(['body', 'partner_program_ids'], `no program ${id}`)
  const createdBy = caller.credential?.clientId ?? caller.user?.id ?? ''
  refuseCollision(all, body, createdBy)
  const records = parts.world.recordsOf(account.name)
  const id = uuidOf(`created ${account.name} ${account.brokerage.id} ${records.created++}`)
  const facts = {
    insured_name: body.applicant.insured_name,
    lines: body.lines_of_business?.length ? body.lines_of_business : ['general_liability'],
    effective_date:
      body.effective_date ?? new Date(atMs + parts.unshown.number('default_effective_days') * 86_400_000).toISOString().slice(0, 10),
    state,
    forms: ['acord_125', 'acord_126'],
    marketing_status: 'not_started',
    marketing_hint: null,
    form_fill_active: false,
    documents_on_file: [],
  } as const
  const submission = parts.world.addSubmission(account.name, id, facts, body.applicant.fein_or_ssn ?? null)
  Object.assign(submission.records.answers, answersOf(body, atMs))
  submission.records.brief = {
    body: JSON.parse(JSON.stringify(body)) as PlainObject,
    createdAtMs: atMs,
    producerEmail: body.applicant.contact_email ?? producer.email,
    insuredId: body.insured_id ?? insuredIdByName(account.name, facts.insured_name),
    raterPrograms: isRater ? (body.partner_program_ids ?? []) : null,
    createdBy,
  }
  if (!body.hold && !isRater) parts.life.startMatching(submission, atMs)
  return submission
}

/** Releases a held submission. Leaves other submissions unchanged. */
export function finalize(parts: BuiltParts, submission: Submission, atMs: number): PlainObject {
  const wasHeld = submission.facts.marketing_status === 'not_started'
  if (wasHeld) parts.life.startMatching(submission, atMs)
  return {
    status: wasHeld ? 'queued' : 'already_released',
    marketing_status: submission.facts.marketing_status,
    typical_wait_seconds: MATCHING_S,
    detail: wasHeld ? 'Matching runs; markets attach in about five minutes.' : 'This submission is not held.',
  }
}

/**
 * @returns the US state of the risk; an empty text if unknown.
 * @throws Refusal if `primary_state` differs from the state of the mailing address.
 */
function stateOf({ primary_state, applicant, locations }: SubmissionCreate): string {
  const mailing = applicant.mailing_address?.state.toUpperCase()
  if (primary_state !== undefined && mailing !== undefined && primary_state !== mailing)
    throw invalid(
      ['body', 'primary_state'],
      `primary_state is ${primary_state}, but the mailing address is in ${mailing}: correct one of them, or leave out primary_state`,
      'value_error',
      'state_conflict',
    )
  return primary_state ?? mailing ?? locations?.[0]?.address.state.toUpperCase() ?? ''
}

function answersOf(body: SubmissionCreate, atMs: number): Record<string, Plain> {
  const sum = (numbers: readonly (number | undefined)[]) =>
    numbers.some((number) => number !== undefined) ? numbers.reduce<number>((total, number) => total + (number ?? 0), 0) : undefined
  const started = body.applicant.date_business_started
  const found = {
    business_started: started,
    years_in_business: started === undefined ? undefined : new Date(atMs).getUTCFullYear() - Number(started.slice(0, 4)),
    annual_revenue: sum((body.locations ?? []).map((one) => one.annual_revenue_at_location)),
    employees_full_time: sum((body.locations ?? []).map((one) => one.employees_full_time)),
    wc_total_annual_payroll: body.wc_total_annual_payroll,
    auto_vehicle_count: body.auto_vehicle_count,
    property_tiv_total: body.property_tiv_total,
  }
  return Object.fromEntries(Object.entries(found).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))
}

function isLive({ facts, lanes }: Submission): boolean {
  return facts.marketing_status !== 'no_markets_matched' && ![...lanes.values()].some(({ rail }) => rail.bound)
}

/**
 * Refuses a submission if a live submission for the same insured exists. Exception: with `mode: rater`, the caller's
 * own live rater submissions are allowed if no programs collide. A program of the new submission collides with a
 * program of the live submission if both belong to the same market, in these cases:
 * - the live submission has no lines of business, or shares a line with the new submission
 * - both programs are the same, and the market has an API, so the submissions would share one carrier application
 */
function refuseCollision(all: readonly Submission[], body: SubmissionCreate, createdBy: string): void {
  const name = body.applicant.insured_name.trim().toLowerCase()
  const isSame = (one: Submission) =>
    body.insured_id === undefined ? one.facts.insured_name.trim().toLowerCase() === name : one.insuredId === body.insured_id
  const live = all.filter((one) => isSame(one) && isLive(one))
  const refuse = (submission: Submission, more: object = {}) => {
    const message = 'A live submission for this insured exists'
    throw new Refusal('file_exists', { code: 'service_file_exists', message, submission_id: submission.id, ...more })
  }
  const foreign = live.find(
    ({ records }) => body.mode !== 'rater' || !records.brief?.raterPrograms || records.brief.createdBy !== createdBy,
  )
  if (foreign) refuse(foreign)
  const programs = (body.partner_program_ids ?? []).flatMap((program_id) => {
    const reasons = new Set<string>()
    const files = live.filter((file) => {
      const found = collisions(file, program_id, body.lines_of_business ?? [])
      for (const reason of found) reasons.add(reason)
      return found.length > 0
    })
    return files.length === 0 ? [] : [{ program_id, reasons: [...reasons], submission_ids: files.map(({ id }) => id) }]
  })
  const first = live.find(({ id }) => programs.some(({ submission_ids }) => submission_ids.includes(id)))
  if (first) refuse(first, { programs })
}

function collisions({ facts, records }: Submission, programId: string, lines: readonly string[]): string[] {
  const program = programOf(programId)
  const own = (records.brief?.raterPrograms ?? []).flatMap((id) => programOf(id) ?? [])
  const sameMarket = own.filter(({ marketId }) => marketId === program?.marketId)
  if (sameMarket.length === 0) return []
  if (facts.lines.length === 0) return ['lines_unknown']
  const reasons = facts.lines.some((line) => lines.includes(line)) ? ['market_line_on_live_file'] : []
  const shared = sameMarket.some((one) => one.programId === programId && one.market.channel === 'api')
  return shared ? [...reasons, 'carrier_application_on_live_file'] : reasons
}

const sent = submissionCreateSchema.shape

/** A line of business by its slug or alias. Unknown lines are kept, but no market matches them. */
const line = z
  .string()
  .min(1)
  .transform((name) => canonicalLine(name) ?? name)

const submissionCreate = submissionCreateSchema
  .extend({
    lines_of_business: z.array(line).optional(),
    primary_state: sent.primary_state.unwrap().toUpperCase().optional(),
    line_target_premiums: sent.line_target_premiums
      .unwrap()
      // The specification says that values that aren't positive are dropped.
      .transform((targets) => Object.fromEntries(Object.entries(targets).filter(([, dollars]) => dollars >= 1)))
      .optional(),
    structure_to_target: z.boolean().default(false),
    hold: z.boolean().default(false),
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

type SubmissionCreate = z.output<typeof submissionCreate>

/**
 * Reads a submission from free text and files. The insured's name is the first line up to a comma, period, or
 * semicolon; without text, the first file's name. A text such as `, TX` gives the state.
 * @returns a body for `createSubmission`.
 * @throws Refusal (422) if there is neither text nor a file.
 */
export function intakeBody({ fields, files }: { fields: Readonly<Record<string, string>>; files: readonly UploadedFile[] }): unknown {
  const text = (fields['text'] ?? '').trim()
  if (text === '' && files.length === 0) throw invalid(['body', 'text'], 'Send text, files, or both', 'missing')
  const firstLine = text.split('\n')[0]?.split(/[,.;]/)[0]?.trim()
  const name = firstLine || files[0]?.name.replace(/\.pdf$/i, '') || 'Unnamed insured'
  const state = /, ([A-Z]{2})\b/.exec(text)?.[1]
  return {
    applicant: { insured_name: name.slice(0, 256) },
    narrative: text || `From ${files.map((file) => file.name).join(', ')}`,
    producer_email: fields['producer_email'],
    ...(state !== undefined && { primary_state: state }),
    ...(fields['hold'] === 'true' && { hold: true }),
  }
}
