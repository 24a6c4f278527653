import type { FastifyReply, FastifyRequest } from 'fastify'
import { includesRole } from '../../../config/schema/roles.ts'
import { BadSignatures } from '../../../receive/bad-signatures.ts'
import { isOwnOrigin } from '../own-host.ts'
import type { AdminParts } from './parts.ts'
import { refuse } from './refusing.ts'
import { securityHeaders } from './security-headers.ts'
import { SESSION_COOKIE, type Sessions } from './sessions.ts'
import { type Holder, TokenVerifier } from './tokens.ts'

const MINUTE_S = 60
const CROWDED_S = 5
/**
 * Limit of concurrent requests of one token or person, including waiting requests.
 * The limit is lower than every limit that all users share, so one user can't block the others.
 */
export const MOST_AT_ONCE = 32

const SESSION_ROUTE = '/api/v1/session'
export const OIDC_ROUTE = `${SESSION_ROUTE}/oidc`
export const OIDC_CALLBACK = `${OIDC_ROUTE}/callback`

/** Routes that require no sign-in. */
const OPEN: ReadonlySet<string | undefined> = new Set([`${SESSION_ROUTE}/methods`, OIDC_ROUTE, OIDC_CALLBACK])

/** Checks a request, and answers it if it is not allowed. @returns undefined if the request is allowed. */
export type Guard = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>

/**
 * Creates a guard that rejects requests without a valid token or session.
 * The guard answers before the body is read, and does not reveal whether a route exists.
 * A browser may send the session cookie with requests from pages of other sites.
 * Session requests that change data must therefore come from a page of this server.
 */
export function createGuard(p: Pick<AdminParts, 'config' | 'clock' | 'log'>, sessions: Sessions): Guard {
  const keeper = new TokenVerifier()
  const failures = new BadSignatures()
  const logged = new BadSignatures()
  const places = new Places()
  return async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', ...securityHeaders })
    const { tokens, oidc, publicUrl } = p.config().ops
    if (tokens.length === 0 && !oidc) return reply.code(404).type('text/plain').send('not found\n')
    const { authorization, origin } = request.headers
    const isOwn = isOwnOrigin(origin, request.headers.host, publicUrl)
    if (request.method === 'POST' && request.routeOptions.url === SESSION_ROUTE) {
      return origin === undefined || isOwn ? undefined : refuse(reply, 403, [FOREIGN])
    }
    if (isRead(request) && OPEN.has(request.routeOptions.url)) return undefined
    const id = authorization === undefined ? sessionIdOf(request) : null
    const holder = id === null ? keeper.holderOf(tokens, authorization) : await sessions.holderOf(id)
    if (holder !== null) {
      request.who = holder.name
      request.holder = holder
      request.isStillAllowed = async () =>
        id === null ? keeper.holderOf(p.config().ops.tokens, authorization) !== null : await sessions.isLive(id)
      if (id !== null && !isRead(request) && !isOwn) return refuse(reply, 403, [FOREIGN])
      if (!places.take(holder.name, reply)) {
        return refuse(reply.header('retry-after', CROWDED_S), 503, [
          `${holder.name} has reached the limit of ${MOST_AT_ONCE} concurrent requests. Try again later`,
        ])
      }
      return refuseWeakRole(holder, request, reply)
    }
    // Don't count an ended session as a wrong token, because every open console page still sends its cookie.
    if (id !== null) return refuse(reply, 401, ['the session has ended. Sign in again'])
    const now = p.clock.steady()
    // Don't count requests without a token. A foreign page could send many and block its visitor's address.
    const isGuess = authorization !== undefined
    if (isGuess && failures.note(request.ip, now)) {
      return refuse(reply.header('retry-after', MINUTE_S), 429, ['too many wrong tokens from this address; wait a minute'])
    }
    if (!logged.note(request.ip, now)) {
      p.log.warn({ address: request.ip }, 'rejected an admin request without a valid token of OPS_TOKENS')
    }
    reply.header('www-authenticate', 'Bearer realm="submission-mirror"')
    return refuse(reply, 401, ['send the header Authorization: Bearer TOKEN with one of OPS_TOKENS, or a session cookie'])
  }
}

/** Counts the concurrent requests of each token or person. */
class Places {
  readonly #taken = new Map<string, number>()

  /** Counts a request until its connection closes. @returns false if the limit is reached. */
  take(name: string, { raw }: FastifyReply): boolean {
    const taken = this.#taken.get(name) ?? 0
    if (taken >= MOST_AT_ONCE) return false
    this.#taken.set(name, taken + 1)
    raw.once('close', () => this.#leave(name))
    return true
  }

  #leave(name: string): void {
    const left = (this.#taken.get(name) ?? 1) - 1
    if (left === 0) this.#taken.delete(name)
    else this.#taken.set(name, left)
  }
}

const FOREIGN = 'session requests that change data must come from a page of this server; the Origin header is missing or names another'

/** @returns the session id from the cookie; null if there is none. */
export function sessionIdOf({ headers, server }: FastifyRequest): string | null {
  const id = server.parseCookie(headers.cookie ?? '')[SESSION_COOKIE]
  return id === undefined || id === '' ? null : id
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** If the role is insufficient, answers 403 before the body is read. @returns undefined if the role is sufficient. */
function refuseWeakRole({ name, role }: Holder, request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  const needed = request.routeOptions.config.role
  // An unknown route requires no role. The router answers 404 later.
  if (needed === undefined || includesRole(role, needed)) return undefined
  return refuse(reply, 403, [`requires the ${needed} role; ${name} has the ${role} role`])
}
