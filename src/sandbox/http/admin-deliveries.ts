import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { timeFromMs } from '../../model/time.ts'
import type { DeliveryRecord } from '../service/delivery-history.ts'
import type { Sandbox } from '../service/sandbox.ts'
import type { AdminRoutes } from './admin-routes.ts'

const listQuery = z.object({
  account: z.string().optional(),
  submission: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(5_000).default(200),
})
const idParams = z.object({ id: z.string() })
/** Ten years at most, so that no time becomes unreadable. */
const clockBody = z.strictObject({ advance_s: z.number().min(0).max(315_360_000) })

/** Routes that show, lose and repeat deliveries, and let time pass. */
export function registerDeliveries(on: AdminRoutes): void {
  on('GET', '/deliveries', (running, request) => {
    const { account, submission, limit } = listQuery.parse(request.query)
    if (account !== undefined) running.account(account)
    const isMeant = (one: DeliveryRecord) =>
      (account === undefined || one.account === account) && (submission === undefined || one.submissionId === submission)
    const latest = running.deliveries.list().filter(isMeant).slice(-limit).reverse()
    return { deliveries: latest.map(deliveryView) }
  })
  const act = (name: 'resend' | 'lose') => (running: Sandbox, request: FastifyRequest) => {
    const { id } = idParams.parse(request.params)
    running.deliveries[name](id)
    return { id, [name === 'lose' ? 'lost' : 'resent']: true }
  }
  on('POST', '/deliveries/next/lose', (running) => {
    running.deliveries.loseNext()
    return { id: 'next', lost: true }
  })
  on('POST', '/deliveries/:id/resend', act('resend'))
  on('POST', '/deliveries/:id/lose', act('lose'))

  on('GET', '/clock', (running) => clockView(running))
  on('POST', '/clock', async (running, request) => {
    await running.advance(clockBody.parse(request.body).advance_s * 1000)
    return clockView(running)
  })
}

function clockView({ nowMs, clockKind: clock }: Sandbox) {
  return { clock, now: timeFromMs(nowMs) }
}

/** @returns a delivery with the body that was or will be sent. */
function deliveryView(record: DeliveryRecord) {
  const { id, account, submissionId, type, itemIds, outcome, attempts, lastStatus, createdAtMs, endedAtMs, body } = record
  return {
    id,
    account,
    submission_id: submissionId,
    type,
    item_ids: itemIds,
    outcome,
    attempts,
    last_status: lastStatus,
    created_at: timeFromMs(createdAtMs),
    ended_at: endedAtMs === null ? null : timeFromMs(endedAtMs),
    body,
  }
}
