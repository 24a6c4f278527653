import type { FastifyInstance } from 'fastify'
import { parseUuid } from '../../model/uuid.ts'
import { bindRequestsOf } from '../service/binding.ts'
import { insuredIdOf } from '../service/insured-ids.ts'
import { policiesOf } from '../service/policies.ts'
import type { Submission } from '../world/submission.ts'
import { taxIdOf } from '../world/tax-id.ts'
import type { World } from '../world/world.ts'
import { errorAnswer } from './answers.ts'
import type { Handle } from './handle.ts'

/** Reads that the spec names without showing their paths or answers. Both are the sandbox's own. */
export function registerExtra(app: FastifyInstance, world: World, handle: Handle): void {
  const read = (path: string, answerOf: (submission: Submission) => unknown) => {
    app.get<{ Params: { submissionId: string } }>(path, (request, reply) => {
      const submissionId = parseUuid(request.params.submissionId)
      return handle('extra', request, reply, submissionId ?? undefined, ({ account }) => {
        const submission = submissionId === null ? undefined : world.submissions(account.name).get(submissionId)
        return submission ? { status: 200, body: answerOf(submission) } : errorAnswer(404, 'Submission not found')
      })
    })
  }
  read('/broker/submissions/:submissionId', submissionDetail)
  read('/broker/submissions/:submissionId/markets', ({ id }) => ({ submission_id: id, engaged: [], declined: [], available: [] }))
}

/** The detail of a submission, with ids that nothing lists, and a tax id. */
function submissionDetail(submission: Submission): unknown {
  const { id, facts } = submission
  return {
    submission_id: id,
    insured_name: facts.insured_name,
    insured_id: insuredIdOf(submission),
    applicant: { fein: taxIdOf(facts.insured_name) },
    bind_requests: bindRequestsOf(submission).map(({ bind_request_id, status }) => ({ bind_request_id, status })),
    policies: policiesOf(submission).map(({ policy_id }) => ({ policy_id })),
  }
}
