import { insuredIdOf } from '../service/insured-ids.ts'
import type { Submission } from '../world/submission.ts'
import type { Answer } from './answers.ts'

/** Lists that the spec mentions but does not describe. The shapes of their answers are the sandbox's own. */
export const listPaths = ['/broker/submissions', '/broker/insureds'] as const

/** @returns the answer of a list. */
export function listAnswer(path: (typeof listPaths)[number], submissions: readonly Submission[]): Answer {
  if (path === '/broker/submissions') {
    const items = submissions.map((one) => ({
      submission_id: one.id,
      insured: { insured_id: insuredIdOf(one), name: one.facts.insured_name },
    }))
    return { status: 200, body: { items } }
  }
  const insureds = new Map(submissions.map((one) => [insuredIdOf(one), one.facts.insured_name]))
  return { status: 200, body: [...insureds].map(([insured_id, name]) => ({ insured_id, name })) }
}
