import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { timeFromMs } from '../../model/time.ts'
import { type DeliveryRecord, deliveryView } from '../service/delivery-history.ts'
import type { Sandbox } from '../service/sandbox.ts'
import type { AdminRoutes } from './admin-routes.ts'

const listQuery = z.object({
  account: z.string().optional(),
  submission: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(5_000).default(200),
})
const idParams = z.object({ id: z.string() })
const clockBody = z.strictObject({ advance_s: z.number().min(0).max(315_360_000) })

/** Adds the routes that list, lose, and resend deliveries, and advance the clock. */
export function registerDeliveries(on: AdminRoutes): void {
  on('GET', '/deliveries', (running, request) => {
    const { account, submission, limit } = listQuery.parse(request.query)
    if (account !== undefined) running.account(account)
    const isMeant = (one: DeliveryRecord) =>
      (account === undefined || one.account === account) && (submission === undefined || one.submissionId === submission)
    const latest = running.deliveries.list().filter(isMeant).slice(-limit).reverse()
    return { deliveries: latest.map((one) => ({ ...deliveryView(one), body: one.body })) }
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
