import { z } from 'zod'
import { bindStatuses } from '../service/bind.ts'
import { type CarrierParts, moveBindRequest, releaseQuote } from '../service/carriers.ts'
import type { AdminRoutes } from './admin-routes.ts'

const quoteBody = z.strictObject({
  submission_id: z.uuid(),
  lane_id: z.uuid(),
  firm: z.boolean(),
  total_cents: z.int().min(0).optional(),
})
const bindBody = z.strictObject({ bind_request_id: z.uuid(), to: z.enum(bindStatuses) })

/** What carriers do, by hand: a quote on a lane, and the moves of a bind request that the spec does not show. */
export function registerLifeAdmin(on: AdminRoutes, parts: CarrierParts): void {
  on('POST', '/quotes', (_running, request) => {
    const body = quoteBody.parse(request.body)
    return releaseQuote(parts, body.submission_id, body.lane_id, { firm: body.firm, totalCents: body.total_cents })
  })
  on('POST', '/bind', (_running, request) => {
    const { bind_request_id, to } = bindBody.parse(request.body)
    return moveBindRequest(parts, bind_request_id, to)
  })
}
