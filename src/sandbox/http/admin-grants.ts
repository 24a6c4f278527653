import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Account } from '../service/accounts.ts'
import { OAuthError } from '../service/refusal.ts'
import type { Sandbox } from '../service/sandbox.ts'
import { scopes } from '../service/scopes.ts'
import { type AdminRoutes, WholeAnswer } from './admin-routes.ts'

const approveBody = z.strictObject({
  account: z.string().optional(),
  user_code: z.string(),
  email: z.string(),
  deny: z.boolean().optional(),
})
const authorizeQuery = z.object({ account: z.string().optional(), email: z.string(), deny: z.string().optional() })
const controlsBody = z.strictObject({ account: z.string(), scopes: z.array(z.enum(scopes)) })

/** Adds the routes that approve or deny grants, as a broker does in the portal. */
export function registerGrants(on: AdminRoutes): void {
  on('POST', '/approve', (running, request) => {
    const body = approveBody.parse(request.body)
    const { account, user } = findUser(running, body)
    refused(() => running.grants.devices.decide(body.user_code, account, user, body.deny !== true))
    return { user_code: body.user_code, account: account.name, email: user.email, approved: body.deny !== true }
  })
  on('GET', '/devices', (running) => ({ user_codes: running.grants.devices.waiting() }))
  on('GET', '/authorize-as', (running, request) => {
    const own = authorizeQuery.parse(request.query)
    const { account, user } = findUser(running, own)
    const { authorizations } = running.grants
    const given = new URL(request.url, 'http://sandbox.invalid').searchParams
    const query = given.has('client_id') ? given : authorizations.latest
    if (!query) throw new RangeError('no authorization was requested; pass the query of /oauth/authorize too')
    const asked = refused(() => authorizations.read(query))
    const location = own.deny === undefined ? authorizations.approve(asked, account, user) : authorizations.deny(asked)
    return new WholeAnswer({ status: 302, body: { location }, headers: { location } })
  })
  on('GET', '/apps', (running, request) => {
    const { account } = appsOf(running, request)
    const apps = [...running.grants.sessions.list(account.name)].map(([id, { clientId, scopes: granted, userId }]) => ({
      id,
      client_id: clientId,
      client_name: running.grants.clients.read(clientId)?.name ?? null,
      scope: granted.join(' '),
      email: account.users.find((user) => user.id === userId)?.email ?? null,
    }))
    return { account: account.name, apps }
  })
  on('DELETE', '/apps/:id', (running, request) => {
    const { account } = appsOf(running, request)
    const { id } = z.object({ id: z.string() }).parse(request.params)
    if (!running.grants.sessions.list(account.name).has(id)) throw new RangeError(`account ${account.name} has no connected app ${id}`)
    running.grants.sessions.end(id)
    return { account: account.name, id, revoked: true }
  })
  on('POST', '/programmatic-access', (running, request) => {
    const body = controlsBody.parse(request.body)
    running.access.administrator(request.headers.authorization)
    running.account(body.account).programmaticScopes = body.scopes
    return body
  })
}

function appsOf(running: Sandbox, request: FastifyRequest): { account: Account } {
  const caller = running.access.administrator(request.headers.authorization)
  const named = z.object({ account: z.string().optional() }).parse(request.query).account
  return { account: caller?.account ?? running.account(named) }
}

function findUser(running: Sandbox, { account, email }: { account?: string | undefined; email: string }) {
  return running.access.findUser(email, account === undefined ? undefined : running.account(account))
}

function refused<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (error instanceof OAuthError) throw new RangeError(error.message)
    throw error
  }
}
