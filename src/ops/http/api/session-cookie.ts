import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdminParts } from './parts.ts'
import { SESSION_COOKIE } from './sessions.ts'

/** Sets the cookie of a session. @param maxAgeS 0 takes it away. */
export function setSessionCookie(p: AdminParts, request: FastifyRequest, reply: FastifyReply, id: string, maxAgeS: number): void {
  reply.setCookie(SESSION_COOKIE, id, { httpOnly: true, sameSite: 'strict', path: '/', secure: isByHttps(p, request), maxAge: maxAgeS })
}

/** Whether a cookie may ask for HTTPS. */
export function isByHttps(p: AdminParts, request: FastifyRequest): boolean {
  return p.config().ops.publicUrl?.startsWith('https:') === true && isByPublicUrl(p, request)
}

/** The URL of this server as the browser of a request knows it, without a slash at its end. */
export function ownUrl(p: AdminParts, request: FastifyRequest): string {
  const { publicUrl } = p.config().ops
  return publicUrl !== undefined && isByPublicUrl(p, request) ? publicUrl : `http://${request.headers.host}`
}

/** Whether it came by OPS_PUBLIC_URL, and not by a loopback address, over which a browser would not send a cookie that needs HTTPS. */
function isByPublicUrl(p: AdminParts, { headers }: FastifyRequest): boolean {
  return new URL(p.config().ops.publicUrl ?? 'http://localhost').host === headers.host
}
