import { z } from 'zod'
import { assumptionSchema } from './binding.ts'
import { known, text, texts, uuid } from './fields.ts'
import { applicationSectionSchema } from './workspace.ts'

/** For errors whose only documented field is `detail`. */
export const errorSchema = z
  .looseObject({ detail: z.unknown().describe('What went wrong: a text, a list or an object').optional() })
  .meta({ description: 'An error', 'x-not-shown': 'The body, beyond `detail`' })

/** Body of a 422 of the token, device-authorization, and document-upload endpoints. */
export const validationErrorSchema = z
  .looseObject({
    detail: z
      .array(
        z.looseObject({
          loc: z.array(z.union([z.string(), z.number()])).describe('Where'),
          msg: text('What is wrong'),
          type: text('Kind of the problem'),
        }),
      )
      .describe('The problems'),
  })
  .describe('A validation error')

export const collidingProgramSchema = z
  .looseObject({
    program_id: uuid('The program'),
    reasons: z
      .array(known(['market_line_on_live_file', 'carrier_application_on_live_file', 'lines_unknown'], 'Why it collides'))
      .describe('Why it collides'),
    submission_ids: texts('The submissions that it collides with'),
  })
  .partial()
  .describe('A program that collides with a live submission')
export type CollidingProgram = z.output<typeof collidingProgramSchema>

/** Schema for the fields of a 409. The specification doesn't say whether they are in the body or in `detail`. */
const conflict = <Shape extends z.ZodRawShape>(shape: Shape) => z.looseObject(shape).partial()

const inDetail = <Shape extends z.ZodRawShape>(shape: Shape) => z.union([conflict(shape), z.string(), z.array(z.unknown())]).optional()

const fileExists = {
  code: known(['service_file_exists'], 'Error code'),
  submission_id: uuid('The live submission of the same insured'),
  programs: z.array(collidingProgramSchema).describe("The programs that collide, of the caller's own rater submissions"),
}
export const fileExistsSchema = z
  .looseObject({ ...conflict(fileExists).shape, detail: inDetail(fileExists) })
  .meta({ description: 'A live submission for the same insured exists', 'x-not-shown': 'Whether the fields are in `detail`' })

const unconfirmed = {
  code: known(['assumptions_unconfirmed'], 'Error code'),
  bind_request_id: uuid('The draft, which is kept'),
  unconfirmed_assumptions: z.array(assumptionSchema).describe('The unconfirmed assumptions'),
}
/**
 * Body of the 409 for unconfirmed assumptions. Only `detail.code` is required. The specification doesn't say whether
 * the other fields are in the body or in `detail`.
 */
export const assumptionsUnconfirmedSchema = z
  .looseObject({ ...conflict(unconfirmed).shape, detail: conflict(unconfirmed).required({ code: true }) })
  .meta({
    description: 'Unconfirmed assumptions block the bind request; the draft is kept',
    'x-not-shown': 'Location of `bind_request_id` and the assumptions',
  })

const refused = {
  code: known(['application_command_rejected', 'application_busy'], 'Error code; the code of a stale command is not shown'),
  application: applicationSectionSchema,
}
export const checkpointConflictSchema = z.looseObject({ ...conflict(refused).shape, detail: inDetail(refused) }).meta({
  description: 'The command is stale (the body has the current application), was rejected, or is to be repeated after `Retry-After`',
  'x-not-shown': 'The code of a stale command, and the location of the fields',
})

/** Error of a token request, such as `authorization_pending` (RFC 6749, RFC 8628). */
export const oauthErrorSchema = z
  .looseObject({ error: known(['authorization_pending'], 'Code of the error'), detail: z.unknown().optional() })
  .partial()
  .meta({ description: 'A refused grant', 'x-not-shown': 'All fields' })
