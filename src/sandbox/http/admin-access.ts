import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Account, type Credential, roles, type User } from '../service/accounts.ts'
import type { Sandbox } from '../service/sandbox.ts'
import { parseScopes } from '../service/scopes.ts'
import { LIFETIME_SECONDS } from '../service/tokens.ts'
import type { AdminRoutes } from './admin-routes.ts'

const account = z.string().optional()
const scope = z
  .union([z.string(), z.array(z.string())])
  .transform((value, context) => {
    const list = parseScopes(typeof value === 'string' ? value : value.join(' '))
    if (list && list.length > 0) return list
    context.addIssue({ code: 'custom', message: 'must be broker_mcp, broker_submit or both' })
    return z.NEVER
  })
  .optional()
const keyBody = z.strictObject({
  account,
  label: z.string().min(1).max(200).optional(),
  scope,
  scopes: scope,
  email: z.string().optional(),
})
const revokeBody = z.strictObject({ account, client_id: z.string() })
const userBody = z.strictObject({
  account,
  email: z.email(),
  role: z.enum(roles),
  full_name: z.string().optional(),
  active: z.boolean().optional(),
})
const sessionBody = z.strictObject({ account, email: z.string() })

/**
 * Adds the routes for keys, users, and portal sessions. A request for keys or users may have an `Authorization` header.
 * Its token must be the token of a portal session.
 */
export function registerAccess(on: AdminRoutes): void {
  on('GET', '/keys', (running, request) => {
    const of = managed(running, request, z.object({ account }).parse(request.query).account)
    return { account: of.account.name, keys: running.access.keys(of.account).map(keyView) }
  })
  on('POST', '/keys', (running, request) => {
    const body = keyBody.parse(request.body ?? {})
    const of = managed(running, request, body.account)
    const by = of.user ?? (body.email === undefined ? undefined : running.access.findUser(body.email, of.account).user)
    const key = running.access.createKey(of.account, { label: body.label, scopes: body.scopes ?? body.scope, by })
    return { account: of.account.name, ...keyView(key), client_secret: key.clientSecret }
  })
  const revoke = (running: Sandbox, request: FastifyRequest) => {
    const named = { ...(request.query as object), ...(request.params as object), ...(request.body as object | undefined) }
    const body = revokeBody.parse(named)
    const of = managed(running, request, body.account)
    return { account: of.account.name, ...keyView(running.access.revokeKey(of.account, body.client_id)) }
  }
  on('DELETE', '/keys', revoke)
  on('DELETE', '/keys/:client_id', revoke)

  on('GET', '/users', (running, request) => {
    const of = managed(running, request, z.object({ account }).parse(request.query).account)
    return { account: of.account.name, users: of.account.users.map(userView) }
  })
  on('POST', '/users', (running, request) => {
    const { full_name: fullName, ...body } = userBody.parse(request.body)
    const of = managed(running, request, body.account)
    return { account: of.account.name, ...userView(running.access.putUser(of.account, { ...body, fullName })) }
  })
  on('POST', '/portal-session', (running, request) => {
    const body = sessionBody.parse(request.body)
    const of = body.account === undefined ? undefined : running.account(body.account)
    const found = running.access.findUser(body.email, of)
    const access_token = running.access.openPortalSession(found.account, found.user)
    return { account: found.account.name, access_token, token_type: 'Bearer', expires_in: LIFETIME_SECONDS, user: userView(found.user) }
  })
}

function managed(running: Sandbox, request: FastifyRequest, name: string | undefined): { account: Account; user: User | null } {
  const caller = running.access.manager(request.headers.authorization)
  if (caller) return { account: caller.account, user: caller.user }
  return { account: running.account(name), user: null }
}

function keyView({ clientId, label, scopes, active }: Credential) {
  return { client_id: clientId, label, scope: scopes.join(' '), scopes, active }
}

function userView({ id, email, fullName, role, active }: User) {
  return { id, email, full_name: fullName, role, active }
}
