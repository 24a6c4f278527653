import type { FastifyReply } from 'fastify'
import { SESSION_COOKIE } from './sessions.ts'

/** Sets the cookie of a session. @param url by which the browser knows this server; see `ownUrlOf`. @param maxAgeS 0 takes it away. */
export function setSessionCookie(reply: FastifyReply, url: string, id: string, maxAgeS: number): void {
  reply.setCookie(SESSION_COOKIE, id, { httpOnly: true, sameSite: 'strict', path: '/', secure: isByHttps(url), maxAge: maxAgeS })
}

/** Whether a cookie may ask for HTTPS: over plain HTTP a browser would neither keep nor send it. */
export function isByHttps(url: string): boolean {
  return url.startsWith('https:')
}
