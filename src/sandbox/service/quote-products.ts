import { z } from 'zod'
import type { Submission } from '../world/submission.ts'
import { invalid, parseBody } from './parse.ts'
import { Refusal } from './refusal.ts'

const quoteProductsBody = z.object({
  program_ids: z.array(z.uuid()).min(1).max(100),
  selected_ids: z.array(z.uuid()).max(100),
  expected_revision: z.int(),
})

/**
 * Selects which of some programs are quoted.
 * @returns the refreshed selection.
 * @throws Refusal for a stale revision, and 422 for an id that is not among `program_ids`.
 */
export function selectProducts({ records }: Submission, input: unknown) {
  const body = parseBody(quoteProductsBody, input)
  const strange = body.selected_ids.find((id) => !body.program_ids.includes(id))
  if (strange !== undefined) throw invalid(['body', 'selected_ids'], `${strange} is not among program_ids`)
  if (body.expected_revision !== records.selectionRevision)
    throw new Refusal('stale_selection', {
      code: 'stale_selection',
      message: 'The selection has changed meanwhile; read the workspace again',
      selection_revision: records.selectionRevision,
    })
  records.selectionRevision++
  const others = records.selectedPrograms.filter((id) => !body.program_ids.includes(id))
  records.selectedPrograms = [...others, ...new Set(body.selected_ids)]
  return { selection_revision: records.selectionRevision, program_ids: body.program_ids, selected_ids: records.selectedPrograms }
}
