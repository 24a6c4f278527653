import { z } from 'zod'
import { OAuthError } from '../service/oauth-error.ts'
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

/** Routes that decide on grants as a broker does in the portal. */
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
    if (!query) throw new RangeError('nobody asked for authorization; pass the query of /oauth/authorize as well')
    const asked = refused(() => authorizations.read(query))
    const location = own.deny === undefined ? authorizations.approve(asked, account, user) : authorizations.deny(asked)
    return new WholeAnswer({ status: 302, body: { location }, headers: { location } })
  })
  on('POST', '/programmatic-access', (running, request) => {
    const body = controlsBody.parse(request.body)
    running.account(body.account).programmaticScopes = body.scopes
    return body
  })
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
