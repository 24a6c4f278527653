import type { FastifyInstance } from 'fastify'
import { parseUuid } from '../../model/uuid.ts'
import { bindRequestsOf } from '../service/binding.ts'
import { insuredIdOf } from '../service/insured-ids.ts'
import { matchingPrograms } from '../service/matching.ts'
import { policiesOf } from '../service/policies.ts'
import { Refusal } from '../service/refusal.ts'
import { categoryLabels } from '../world/names.ts'
import type { AccountRecords } from '../world/records.ts'
import type { Submission } from '../world/submission.ts'
import { taxIdOf } from '../world/tax-id.ts'
import type { RailLane } from '../world/wire.ts'
import type { World } from '../world/world.ts'
import type { Handle } from './handle.ts'
import { pathIds } from './path-ids.ts'

/** Reads that the spec names without showing their paths or answers. Both are the sandbox's own. */
export function registerExtra(app: FastifyInstance, world: World, handle: Handle): void {
  const read = (path: string, answerOf: (submission: Submission) => unknown) => {
    app.get<{ Params: { submission_id: string } }>(path, (request, reply) => {
      const submissionId = parseUuid(request.params.submission_id)
      return handle('extra', request, reply, submissionId ?? undefined, ({ account }) => {
        const submission = world.submissions(account.name).get(pathIds(request.params)['submission_id'] ?? '')
        if (!submission) throw new Refusal('not_found', 'Submission not found')
        return { status: 200, body: answerOf(submission) }
      })
    })
  }
  read('/broker/submissions/:submission_id', submissionDetail)
  read('/broker/submissions/:submission_id/markets', (submission) => ({
    submission_id: submission.id,
    ...marketGroups(submission, world.recordsOf(submission.account).linesOff),
  }))
}

/** The markets of a submission: those that work on it, those that ended without coverage, and programs that would take it. */
function marketGroups(submission: Submission, linesOff: AccountRecords['linesOff']) {
  const lanes = [...submission.lanes.values()].filter(({ visible }) => visible).map(({ rail }) => rail)
  const laneView = ({ submission_market_id, market_name, program, program_category, lines, status, status_label }: RailLane) => {
    const market = { market_name, program, program_category, category_label: categoryLabels[program_category], lines }
    return { lane_id: submission_market_id, ...market, status, status_label }
  }
  const others = matchingPrograms(submission, linesOff).filter(
    ({ program }) => !lanes.some((lane) => lane.market_name === program.market.name),
  )
  return {
    engaged: lanes.filter(({ chip }) => chip !== 'not_available').map(laneView),
    declined: lanes.filter(({ chip }) => chip === 'not_available').map(laneView),
    available: others.map(({ program: { market }, lines }) => ({
      market_name: market.name,
      program: market.program,
      program_category: market.category,
      category_label: categoryLabels[market.category],
      lines,
    })),
  }
}

/** The detail of a submission, with ids that nothing lists, and a tax id: of one that was created here, what was sent. */
function submissionDetail(submission: Submission): unknown {
  const { id, facts } = submission
  return {
    submission_id: id,
    insured_name: facts.insured_name,
    insured_id: insuredIdOf(submission),
    applicant: { fein: submission.records.brief ? submission.taxId : taxIdOf(facts.insured_name) },
    bind_requests: bindRequestsOf(submission).map(({ bind_request_id, status }) => ({ bind_request_id, status })),
    policies: policiesOf(submission).map(({ policy_id }) => ({ policy_id })),
  }
}
