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
/** Requests of one token or person in progress, held ones and streams included: fewer than any resource that all share has places. */
export const MOST_AT_ONCE = 32

/** Where one signs in: the one route that looks at a token itself. */
export const SESSION_ROUTE = '/api/v1/session'

/** Where one signs in by OpenID Connect, and where its provider leads back to. */
export const OIDC_ROUTE = `${SESSION_ROUTE}/oidc`
export const OIDC_CALLBACK = `${OIDC_ROUTE}/callback`

/** What who is not signed in may ask for. */
const OPEN: ReadonlySet<string | undefined> = new Set([`${SESSION_ROUTE}/methods`, OIDC_ROUTE, OIDC_CALLBACK])

/** Answers a request that may not go on. @returns undefined when it may. */
export type Guard = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>

/**
 * Refuses requests that bear neither a token nor a session, before the body is read and before the answer tells whether the route exists. A
 * session's cookie is sent by the browser whoever asks it to: what changes something must come from this server's own pages.
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
          `${holder.name} has ${MOST_AT_ONCE} requests in progress, which is the limit; try again when some are answered`,
        ])
      }
      return refuseWeakRole(holder, request, reply)
    }
    // Nobody guesses a session, and one that has ended is sent by every open page.
    if (id !== null) return refuse(reply, 401, ['the session has ended; sign in again'])
    const now = p.clock.steady()
    // A request without a token guesses nothing. A foreign page can send many from a visitor's browser, where the sign-in page must still open.
    const isGuess = authorization !== undefined
    if (isGuess && failures.note(request.ip, now)) {
      return refuse(reply.header('retry-after', MINUTE_S), 429, ['too many wrong tokens from this address; wait a minute'])
    }
    if (!logged.note(request.ip, now)) {
      p.log.warn({ address: request.ip }, 'an admin request was refused: it has no token of OPS_TOKENS')
    }
    reply.header('www-authenticate', 'Bearer realm="submission-mirror"')
    return refuse(reply, 401, ['this needs the header Authorization: Bearer TOKEN, with one of OPS_TOKENS, or the cookie of a session'])
  }
}

/** Requests in progress by the name of their token or person. */
class Places {
  readonly #taken = new Map<string, number>()

  /** Takes a place until the answer is sent or the connection closes. @returns false when there is none. */
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

const FOREIGN = 'with a session, only the pages of this server may change something: the header Origin names another, or none'

/** The id in the cookie of a request; null when it has none. */
export function sessionIdOf({ headers, server }: FastifyRequest): string | null {
  const id = server.parseCookie(headers.cookie ?? '')[SESSION_COOKIE]
  return id === undefined || id === '' ? null : id
}

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Answers 403 when the role does not suffice for the route, before the body is read. */
function refuseWeakRole({ name, role }: Holder, request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  const needed = request.routeOptions.config.role
  // Where there is no route, there is nothing to be kept from.
  if (needed === undefined) return undefined
  if (includesRole(role, needed)) return undefined
  return refuse(reply, 403, [`this takes the role ${needed}; the token ${name} has the role ${role}`])
}
