import { z } from 'zod'
import { storableText } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'

/** Schemas that several tools share. */

const MOST_ITEMS = 200

/** Texts that every database can hold. */
function text(most: number) {
  return z
    .string()
    .min(1)
    .max(most)
    .refine((given) => storableText(given) === given, 'holds characters that no text of the mirror has')
}

export const limit = z.int().min(1).max(MOST_ITEMS).default(50).describe('how many items at most, 1 to 200')
export const cursor = text(4_096).optional().describe('`next_cursor` of the page before; left out for the first page')
export const name = text(200)
export const account = name.describe('the name of an account, as it stands in every answer')
export const anyAccount = account.optional().describe('only of this account')
export const submissionId = z
  .string()
  .max(100)
  .refine((given) => parseUuid(given) !== null, 'is no submission id (a uuid)')
  .describe('the id of a submission, a uuid')
export const anySubmission = submissionId.optional().describe('only of this submission')

/** An id that was validated, as it stands in the tables. */
export function idOf(given: string): string
export function idOf(given: string | undefined): string | undefined
export function idOf(given: string | undefined): string | undefined {
  return given === undefined ? undefined : (parseUuid(given) ?? given)
}
