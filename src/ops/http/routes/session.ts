import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { includesRole, roles } from '../../../config/schema/roles.ts'
import { BadSignatures } from '../../../receive/bad-signatures.ts'
import { record, time } from '../../output/schema.ts'
import { answers, done } from '../api/answers.ts'
import { sessionIdOf } from '../api/guard.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { refuse } from '../api/refusing.ts'
import { type Sessions, setSessionCookie } from '../api/sessions.ts'
import { TokenVerifier } from '../api/tokens.ts'
import { ownUrlOf } from '../own-host.ts'

const MINUTE_S = 60
/** Wrong tokens that one address may send per minute. */
const MOST_TRIES = 10
/** Maximum characters of a pasted token, including its name, its role and white space. */
const LONGEST_PASTED = 1_024

const who = record('Session', {
  name: z.string().describe('name of the token, or `oidc:` and the name of the person'),
  role: z.enum(roles),
  may: z.array(z.enum(roles)).describe('included roles'),
  via: z.enum(['token', 'session']),
  ends_at: time.nullable().describe('end of the session'),
  idle_ends_at: time.nullable().describe('end of the session without further requests, accurate to a tenth of OPS_SESSION_IDLE'),
})

const begin = {
  summary: 'sign in with a token: sets a session cookie and ends the previous session',
  tags: ['session'],
  security: [],
  body: z.strictObject({
    token: z.string().min(1).max(LONGEST_PASTED).describe('the token, or `name:token[:role]` as in OPS_TOKENS; white space is ignored'),
  }),
  response: done('signed in'),
}
const show = { summary: 'show your name and role', tags: ['session'], response: answers('your session', who) }
const end = { summary: 'sign out', tags: ['session'], response: done('signed out, or not signed in') }

/** Adds `POST`, `GET` and `DELETE /session`. */
export function addSession(api: Api, p: AdminParts, sessions: Sessions): void {
  const verifier = new TokenVerifier()
  const failures = new BadSignatures(MOST_TRIES)
  api.post('/session', { schema: begin, config: { role: 'viewer' } }, async (request, reply) => {
    const { ip } = request
    if (failures.isLimited(ip, p.clock.steady()))
      return refuse(reply.header('retry-after', MINUTE_S), 429, ['too many wrong tokens from this address; wait a minute'])
    const holder = verifier.holderOfPasted(p.config().ops.tokens, request.body.token)
    const id = holder && (await sessions.begin(holder.name))
    if (!holder || id === null) {
      failures.note(ip, p.clock.steady())
      p.log.warn({ address: ip }, 'rejected a sign-in with a token that is not in OPS_TOKENS')
      return refuse(reply, 401, ['The token is not valid. Check it, and sign in again'])
    }
    request.who = holder.name
    const replaced = sessionIdOf(request)
    const before = replaced === null ? null : await sessions.holderOf(replaced)
    if (replaced !== null && before !== null) await sessions.end(replaced, before.name)
    return setCookie(p, request, reply, id, Math.floor(p.config().ops.sessionMaxMs / 1_000))
  })
  api.get('/session', { schema: show, config: { role: 'viewer' } }, ({ holder }): z.output<typeof who> => {
    if (!holder) throw new Error('the guard let in a request without a holder')
    const { name, role, session } = holder
    const may = roles.filter((each) => includesRole(role, each))
    const ends = { ends_at: session?.endsAt ?? null, idle_ends_at: session?.idleEndsAt ?? null }
    return { name, role, may, via: session ? 'session' : 'token', ...ends }
  })
  api.delete('/session', { schema: end, config: { role: 'viewer' } }, async (request, reply) => {
    const id = request.holder?.session ? sessionIdOf(request) : null
    if (id !== null) await sessions.end(id, request.who)
    return setCookie(p, request, reply, '', 0)
  })
}

/** Answers 204 and sets the session cookie. @param maxAgeS lifetime in seconds; 0 deletes the cookie. */
function setCookie(p: AdminParts, request: FastifyRequest, reply: FastifyReply, id: string, maxAgeS: number): FastifyReply {
  setSessionCookie(reply, ownUrlOf(request.headers, p.config().ops.publicUrl), id, maxAgeS)
  return reply.code(204).send()
}
