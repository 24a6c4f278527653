import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { includesRole, roles } from '../../../config/schema/roles.ts'
import { BadSignatures } from '../../../receive/bad-signatures.ts'
import { record, time } from '../../output/schema.ts'
import { answers, done } from '../api/answers.ts'
import { sessionIdOf } from '../api/guard.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { refuse } from '../api/refusing.ts'
import { setSessionCookie } from '../api/session-cookie.ts'
import type { Sessions } from '../api/sessions.ts'
import { TokenVerifier } from '../api/tokens.ts'
import { ownUrlOf } from '../own-host.ts'

const MINUTE_S = 60
/** Wrong tokens in a minute from one address, before more are refused unseen. */
const MOST_TRIES = 10
/** Of a token with its name, role and white space. */
const LONGEST_PASTED = 1_024

const who = record('Session', {
  name: z.string().describe('of the token; `oidc:` and the name of who signed in by OpenID Connect'),
  role: z.enum(roles),
  may: z.array(z.enum(roles)).describe('the roles that it includes'),
  via: z.enum(['token', 'session']),
  ends_at: time.nullable().describe('of a session, whatever is done in it'),
  idle_ends_at: time.nullable().describe('of a session, when nothing more is asked; noted with a tenth of OPS_SESSION_IDLE'),
})

const begin = {
  summary: 'sign in with a token: the answer sets the cookie of a session; the session of the request ends',
  tags: ['session'],
  security: [],
  body: z.strictObject({
    token: z.string().min(1).max(LONGEST_PASTED).describe('alone, or `name:token[:role]` as in OPS_TOKENS; white space is ignored'),
  }),
  response: done('signed in'),
}
const show = { summary: 'who one is, and what one may', tags: ['session'], response: answers('who asks', who) }
const end = { summary: 'sign out: the session ends', tags: ['session'], response: done('signed out, or not signed in') }

/** `POST`, `GET`, `DELETE /session` */
export function addSession(api: Api, p: AdminParts, sessions: Sessions): void {
  const keeper = new TokenVerifier()
  const failures = new BadSignatures(MOST_TRIES)
  api.post('/session', { schema: begin, config: { role: 'viewer' } }, async (request, reply) => {
    const { ip } = request
    if (failures.isLimited(ip, p.clock.steady())) return tooMany(reply)
    const holder = keeper.holderOfPasted(p.config().ops.tokens, request.body.token)
    const id = holder && (await sessions.begin(holder.name))
    if (!holder || id === null) {
      failures.note(ip, p.clock.steady())
      p.log.warn({ address: ip }, 'somebody tried to sign in with a token that is none of OPS_TOKENS')
      return refuse(reply, 401, ['Token not recognised'])
    }
    request.who = holder.name
    const replaced = sessionIdOf(request)
    const before = replaced === null ? null : await sessions.holderOf(replaced)
    if (replaced !== null && before !== null) await sessions.end(replaced, before.name)
    return setCookie(p, request, reply, id, Math.floor(p.config().ops.sessionMaxMs / 1_000))
  })
  api.get('/session', { schema: show, config: { role: 'viewer' } }, ({ holder }): z.output<typeof who> => {
    if (!holder) throw new Error('the guard let in nobody')
    const { name, role, session } = holder
    const may = roles.filter((each) => includesRole(role, each))
    return {
      name,
      role,
      may,
      via: session ? 'session' : 'token',
      ends_at: session?.endsAt ?? null,
      idle_ends_at: session?.idleEndsAt ?? null,
    }
  })
  api.delete('/session', { schema: end, config: { role: 'viewer' } }, async (request, reply) => {
    const id = request.holder?.session ? sessionIdOf(request) : null
    if (id !== null) await sessions.end(id, request.who)
    return setCookie(p, request, reply, '', 0)
  })
}

function tooMany(reply: FastifyReply): FastifyReply {
  return refuse(reply.header('retry-after', MINUTE_S), 429, ['too many wrong tokens from this address; wait a minute'])
}

/** Answers 204 with the cookie. @param maxAgeS 0 takes it away. */
function setCookie(p: AdminParts, request: FastifyRequest, reply: FastifyReply, id: string, maxAgeS: number): FastifyReply {
  setSessionCookie(reply, ownUrlOf(request.headers, p.config().ops.publicUrl), id, maxAgeS)
  return reply.code(204).send()
}
