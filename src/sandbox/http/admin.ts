import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { faultSchema, presetFaults, presets } from '../service/faults.ts'
import { registerAccess } from './admin-access.ts'
import { registerDeliveries } from './admin-deliveries.ts'
import { registerGrants } from './admin-grants.ts'
import type { AdminRoutes } from './admin-routes.ts'
import { overviewOf } from './overview.ts'

const faultsBody = z.union([z.strictObject({ preset: z.enum(presets) }), z.strictObject({ faults: z.array(faultSchema).max(1_000) })])
const eventTypes = [
  ...(['market_attached', 'quote_received', 'status_changed', 'declined', 'withdrawn', 'blocked', 'bound'] as const),
  'message',
] as const
const storyBody = z.strictObject({ action: z.enum(['start', 'pause', 'step']) })
export const targetUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const targetBody = z
  .strictObject({ account: z.string(), target: targetUrl.nullable().optional(), event_types: z.array(z.enum(eventTypes)).optional() })
  .refine(({ target, event_types }) => target !== undefined || event_types !== undefined, 'name target, event_types, or both')
const deliverBody = z.strictObject({
  account: z.string(),
  body: z.string(),
  submissionId: z.string().optional(),
  id: z.string().optional(),
})
const accountQuery = z.object({ account: z.string().optional(), submission: z.string().optional() })

/**
 * Adds the routes that control a sandbox. The service doesn't have these routes. Bodies are JSON, with any content
 * type. An invalid body or query, or an unknown account or submission, gets 400 with `detail`.
 */
export function registerAdmin(app: FastifyInstance, on: AdminRoutes): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, parseJson(body.toString())))
  registerAccess(on)
  registerGrants(on)
  registerDeliveries(on)

  on('GET', '/overview', (running) => overviewOf(running))
  on('GET', '/stats', (running) => running.stats())
  on('GET', '/variants', (running) => ({ variants: running.unshown() }))
  on('GET', '/faults', (running) => ({ faults: running.faults.list() }))
  on('POST', '/faults', (running, request) => {
    const body = faultsBody.parse(request.body)
    for (const { account } of 'faults' in body ? body.faults : []) if (account !== undefined) running.account(account)
    running.faults.set('preset' in body ? presetFaults(body.preset) : body.faults)
    return { faults: running.faults.list() }
  })
  on('GET', '/truth', (running, request) => {
    const query = accountQuery.parse(request.query)
    const { name: account } = running.account(query.account)
    return { account, submissions: running.truth(account, query.submission) }
  })
  on('GET', '/submissions', (running, request) => {
    const { name: account } = running.account(accountQuery.parse(request.query).account)
    return { account, submission_ids: running.submissionIds(account) }
  })
  on('POST', '/story', (running, request) => {
    const { action } = storyBody.parse(request.body)
    if (action === 'start') running.story.start()
    if (action === 'pause') running.story.pause()
    return { step: action === 'step' ? (running.story.step()?.label ?? null) : null, story: running.stats().story }
  })
  on('POST', '/target', (running, request) => {
    const { account, target, event_types } = targetBody.parse(request.body)
    running.access.administrator(request.headers.authorization)
    const now = running.account(account)
    Object.assign(now, { ...(target !== undefined && { target }), ...(event_types && { eventTypes: event_types }) })
    return { account, target: now.target, event_types: now.eventTypes }
  })
  on('POST', '/deliver', (running, request) => {
    const { account, body, submissionId, id } = deliverBody.parse(request.body)
    if (running.account(account).target === null) throw new RangeError(`account ${account} has no target, so nothing is delivered`)
    return { id: running.deliver(account, body, { ...(submissionId !== undefined && { submissionId }), ...(id !== undefined && { id }) }) }
  })
}

/** @returns the parsed JSON; undefined if the text isn't JSON. Every schema rejects undefined. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
