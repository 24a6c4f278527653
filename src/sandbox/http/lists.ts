import { insuredIdOf } from '../service/binding.ts'
import type { Submission } from '../world/submission.ts'
import type { Answer } from './answers.ts'

/** Lists that the spec mentions but does not describe. The shapes of their answers are the sandbox's own. */
export const listPaths = ['/broker/submissions', '/broker/insureds'] as const

/** @returns the answer of a list. */
export function listAnswer(path: (typeof listPaths)[number], submissions: readonly Submission[]): Answer {
  if (path === '/broker/submissions') {
    const items = submissions.map(({ id, facts }) => ({
      submission_id: id,
      insured: { insured_id: insuredIdOf(facts.insured_name), name: facts.insured_name },
    }))
    return { status: 200, body: { items } }
  }
  const names = [...new Set(submissions.map(({ facts }) => facts.insured_name))]
  return { status: 200, body: names.map((name) => ({ insured_id: insuredIdOf(name), name })) }
}
