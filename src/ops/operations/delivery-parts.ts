import { z } from 'zod'
import { MASK } from '../../model/masking.ts'
import { printableLine } from '../output/text.ts'
import { hidden } from './hidden.ts'
import { name, ofAccount, ofSubmission, period } from './inputs.ts'

export const inboxStates = ['ready', 'done', 'aside', 'dead'] as const

export const filters = {
  account: ofAccount,
  submission_id: ofSubmission,
  ...period('received'),
  kind: name.optional().describe('only this type, such as `submission.events`'),
  text: name.optional().describe('only with this text in the svix-id, event type, market, error, insured or submission id'),
}

export const keptHeaders = z.record(z.string(), z.string())
export const keptBody = hidden(z.string().nullable().describe('as received; null if not kept'), () => MASK)

/** @returns a delivery as text: one line per field, then headers and body. */
export function deliveryText({ headers, body, ...fields }: { readonly headers: object; readonly body: string | null }): string {
  const width = Math.max(...Object.keys(fields).map((field) => field.length))
  const lines = Object.entries(fields).map(([field, value]) => `${field.padEnd(width)}  ${printableLine(String(value ?? '-'), 1_000)}`)
  return [...lines, '', JSON.stringify(headers, null, 2), '', body ?? 'The body is not kept.'].join('\n')
}
