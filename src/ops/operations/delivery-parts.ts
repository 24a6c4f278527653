import { z } from 'zod'
import { MASK } from '../../model/masking.ts'
import { printableLine } from '../output/text.ts'
import { hidden } from './hidden.ts'
import { name, ofAccount, ofSubmission, period } from './inputs.ts'

/** What stored and refused deliveries have in common. */

export const inboxStates = ['ready', 'done', 'aside', 'dead'] as const

/** Which stored deliveries. */
export const filters = {
  account: ofAccount,
  submission_id: ofSubmission,
  ...period('received'),
  kind: name.optional().describe('only of this type, like `submission.events`'),
  text: name
    .optional()
    .describe("only those with this part in their svix-id, what they told, their error, their insured or their submission's id"),
}

export const keptHeaders = z.record(z.string(), z.string())
export const keptBody = hidden(z.string().nullable().describe('as it came; null when it is not kept'), () => MASK)

/** A delivery for a person: a field a line, then its headers and its body. */
export function deliveryText({ headers, body, ...fields }: { readonly headers: object; readonly body: string | null }): string {
  const width = Math.max(...Object.keys(fields).map((field) => field.length))
  const lines = Object.entries(fields).map(([field, value]) => `${field.padEnd(width)}  ${printableLine(String(value ?? '-'), 1_000)}`)
  return [...lines, '', JSON.stringify(headers, null, 2), '', body ?? 'The body is not kept.'].join('\n')
}
