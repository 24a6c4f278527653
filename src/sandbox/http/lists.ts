import { createHash } from 'node:crypto'
import { parseUuid } from '../../model/uuid.ts'
import type { Submission } from '../world/submission.ts'
import { type Answer, errorAnswer, validationError } from './answers.ts'

/** Lists that the spec mentions but does not describe. The shapes of their answers are the sandbox's own. */
export const listPaths = ['/broker/submissions', '/broker/insureds', '/broker/insureds/:insuredId'] as const

/** @returns the answer of a list. @param insuredId from the path, for the read of one insured. */
export function listAnswer(path: (typeof listPaths)[number], submissions: readonly Submission[], insuredId: string | undefined): Answer {
  if (path === '/broker/submissions') {
    const items = submissions.map(({ id, facts }) => ({
      submission_id: id,
      insured: { insured_id: insuredIdOf(facts.insured_name), name: facts.insured_name },
    }))
    return { status: 200, body: { items } }
  }
  const names = [...new Set(submissions.map(({ facts }) => facts.insured_name))]
  if (path === '/broker/insureds') {
    return { status: 200, body: names.map((name) => ({ insured_id: insuredIdOf(name), name })) }
  }
  const id = parseUuid(insuredId)
  if (id === null) return validationError([{ loc: ['path', 'insured_id'], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }])
  const name = names.find((each) => insuredIdOf(each) === id)
  if (name === undefined) return errorAnswer(404, 'Insured not found')
  const own = submissions.filter(({ facts }) => facts.insured_name === name)
  return { status: 200, body: { insured_id: id, name, submissions: own.map((each) => ({ submission_id: each.id })), policies: [] } }
}

/** @returns an id that depends on the name alone. */
function insuredIdOf(name: string): string {
  const hex = createHash('sha256').update(`insured ${name}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
