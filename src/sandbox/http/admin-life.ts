import { z } from 'zod'
import { type BindStatus, bindOf, bindStatuses, moveBind } from '../service/bind.ts'
import { bindRequestsOf } from '../service/binding.ts'
import type { BuiltParts } from '../service/parts.ts'
import type { RailQuote } from '../world/wire.ts'
import type { AdminRoutes } from './admin-routes.ts'

const quoteBody = z.strictObject({
  submission_id: z.uuid(),
  lane_id: z.uuid(),
  firm: z.boolean(),
  total_cents: z.int().min(0).optional(),
})
const bindBody = z.strictObject({ bind_request_id: z.uuid(), to: z.enum(bindStatuses) })

/**
 * Adds the routes for a carrier's actions: a quote on a lane, and status changes of a bind request. The specification
 * doesn't define these changes.
 */
export function registerLifeAdmin(on: AdminRoutes, parts: BuiltParts): void {
  on('POST', '/quotes', (_running, request) => {
    const body = quoteBody.parse(request.body)
    return releaseQuote(parts, body.submission_id, body.lane_id, { firm: body.firm, totalCents: body.total_cents })
  })
  on('POST', '/bind', (_running, request) => {
    const { bind_request_id, to } = bindBody.parse(request.body)
    return moveBindRequest(parts, bind_request_id, to)
  })
}

function releaseQuote(
  { world, life, clock }: BuiltParts,
  submissionId: string,
  laneId: string,
  terms: { firm: boolean; totalCents?: number | undefined },
): RailQuote {
  for (const account of world.records.keys()) {
    const submission = world.submissions(account).get(submissionId)
    if (submission) return life.release(submission, submission.lane(laneId), clock.now(), terms)
  }
  throw new RangeError(`no submission ${submissionId}`)
}

function moveBindRequest({ world, clock }: BuiltParts, bindRequestId: string, to: BindStatus): unknown {
  for (const account of world.records.keys()) {
    for (const submission of world.submissions(account).values()) {
      if (!bindRequestsOf(submission).some(({ bind_request_id }) => bind_request_id === bindRequestId)) continue
      return moveBind(world, submission, bindOf(submission, bindRequestId), to, clock.now())
    }
  }
  throw new RangeError(`no bind request ${bindRequestId}`)
}
