import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { messageOf } from '../../../base/errors.ts'
import type { Config, OidcConfig } from '../../../config/config.ts'
import { isObject, parsedJson } from '../../../model/json.ts'
import { BadSignatures } from '../../../receive/bad-signatures.ts'
import { record } from '../../output/schema.ts'
import { answers } from '../api/answers.ts'
import { OIDC_CALLBACK, OIDC_ROUTE, sessionIdOf } from '../api/guard.ts'
import type { AdminParts, Api } from '../api/parts.ts'
import { type Identity, isByHttps, roleOf, type Sessions, setSessionCookie } from '../api/sessions.ts'
import { NotVouchedError, type Pending, Provider, ProviderAwayError } from '../oidc/provider.ts'
import { ownUrlOf } from '../own-host.ts'

const PENDING_COOKIE = 'submission_mirror_oidc'
/** Time limit for signing in at the provider, in seconds. */
const PENDING_S = 600
/** Failed sign-ins that one address may make per minute. */
const MOST_TRIES = 10

const methods = record('SignInMethods', {
  token: z.boolean().describe('whether tokens are configured'),
  oidc: z
    .object({ name: z.string().describe('display name of the provider'), path: z.string().describe('path for the browser') })
    .nullable()
    .describe('null if OpenID Connect is not configured'),
  link: z.boolean().describe('whether a console link with `#token=` signs in without a click, as in the demo'),
})

const show = { summary: 'list sign-in methods', tags: ['session'], security: [], response: answers('sign-in methods', methods) }

/** Adds `GET /session/methods`, and for browsers `GET /session/oidc` and its callback. */
export function addOidcSession(api: Api, p: AdminParts, sessions: Sessions): void {
  const providerOf = cachedProvider()
  const failures = new BadSignatures(MOST_TRIES)
  api.get('/session/methods', { schema: show, config: { role: 'viewer' } }, () => {
    const { tokens, oidc } = p.config().ops
    return { token: tokens.length > 0, oidc: oidc ? { name: oidc.name, path: OIDC_ROUTE } : null, link: isDemo(p.config()) }
  })
  // These routes are pages for browsers, so the API description hides them.
  const beginning = { hide: true, querystring: z.looseObject({ from: z.string().optional().catch(undefined) }) }
  api.get('/session/oidc', { schema: beginning, config: { role: 'viewer' } }, async (request, reply) => {
    const { oidc } = p.config().ops
    if (!oidc) return page(reply, 404, NOT_SET)
    try {
      const own = ownUrlOf(request.headers, p.config().ops.publicUrl, request.query.from)
      if (isForeign(request) || (await isSignedIn(request, sessions))) return reply.redirect(`${own}/console/`)
      const { url, pending } = await providerOf(oidc).begin(`${own}${OIDC_CALLBACK}`)
      setPending(reply, own, JSON.stringify({ ...pending, from: own }), PENDING_S)
      return reply.redirect(url.href)
    } catch (error) {
      return refused(p, reply, error)
    }
  })
  const ending = { hide: true, querystring: z.looseObject({}) }
  api.get('/session/oidc/callback', { schema: ending, config: { role: 'viewer' } }, async (request, reply) => {
    const { oidc } = p.config().ops
    if (!oidc) return page(reply, 404, NOT_SET)
    if (failures.isLimited(request.ip, p.clock.steady()))
      return page(reply, 429, 'too many sign-ins from this address failed. Wait a minute')
    const pending = pendingOf(request)
    const own = ownUrlOf(request.headers, p.config().ops.publicUrl, pending?.from)
    // Compare the state. Otherwise, a foreign page could end a sign-in in progress, or use up the allowed failures.
    const isExpected = pending !== null && pending.state === stateOf(request)
    if (isExpected) setPending(reply, own, '', 0)
    try {
      if (pending === null) throw new NotVouchedError('this sign-in did not begin in this browser, or took too long. Sign in again')
      const identity = await providerOf(oidc).finish(new URL(`${own}${OIDC_CALLBACK}${queryOf(request)}`), pending)
      return await signIn(p, sessions, oidc, identity, request, reply, own)
    } catch (error) {
      if (error instanceof NotVouchedError && isExpected) failures.note(request.ip, p.clock.steady())
      return refused(p, reply, error)
    }
  })
}

/**
 * @returns true if a page of another site opened this URL.
 * Returns false without the header `Sec-Fetch-Site`. Old browsers don't send the header.
 * Browsers also don't send it over plain HTTP to another machine.
 */
function isForeign({ headers }: FastifyRequest): boolean {
  return !['same-origin', 'none', undefined].includes(headers['sec-fetch-site'] as string | undefined)
}

async function isSignedIn(request: FastifyRequest, sessions: Sessions): Promise<boolean> {
  const id = sessionIdOf(request)
  return id !== null && (await sessions.isLive(id))
}

function stateOf(request: FastifyRequest): string | null {
  return new URLSearchParams(queryOf(request)).get('state')
}

/** @returns true in the demo: the ops port is on loopback, and the only token is named `demo`. */
function isDemo({ ops: { host, tokens } }: Config): boolean {
  return host === '127.0.0.1' && tokens.length === 1 && tokens[0]?.name === 'demo'
}

const NOT_SET = 'OpenID Connect is not configured (ops.oidc)'

async function signIn(
  p: AdminParts,
  sessions: Sessions,
  oidc: OidcConfig,
  identity: Identity,
  request: FastifyRequest,
  reply: FastifyReply,
  own: string,
): Promise<FastifyReply> {
  if (roleOf(oidc, identity.values) === null) {
    p.log.warn({ who: identity.who }, `${identity.who} signed in at ${oidc.name} but has no role`)
    return page(reply, 403, `you signed in at ${oidc.name}, but have no role here. Ask your administrator for one`)
  }
  request.who = identity.who
  setSessionCookie(reply, own, await sessions.beginOidc(oidc, identity), Math.floor(p.config().ops.sessionMaxMs / 1_000))
  // After a redirect from another site, the browser does not send the session cookie yet.
  // The console page loads without a cookie. The requests of that page then send the cookie.
  return reply.redirect(`${own}/console/`)
}

/** @returns a function that keeps one `Provider`, with its discovery, until the settings change. */
function cachedProvider(): (oidc: OidcConfig) => Provider {
  let known: { readonly oidc: OidcConfig; readonly provider: Provider } | null = null
  return (oidc) => {
    if (known?.oidc !== oidc) known = { oidc, provider: new Provider(oidc) }
    return known.provider
  }
}

function queryOf({ url }: FastifyRequest): string {
  return url.includes('?') ? url.slice(url.indexOf('?')) : ''
}

/**
 * Sets the cookie of a sign-in in progress.
 * The cookie is `Lax`, because the provider redirects from another site. The cookie alone does not sign anyone in.
 */
function setPending(reply: FastifyReply, own: string, text: string, maxAgeS: number): void {
  const options = { httpOnly: true, sameSite: 'lax', path: '/', secure: isByHttps(own), maxAge: maxAgeS } as const
  reply.setCookie(PENDING_COOKIE, text === '' ? '' : Buffer.from(text).toString('base64url'), options)
}

/**
 * @returns the values of the sign-in from the browser's cookie; null if they are missing or malformed.
 * `from` is this server's URL when the sign-in began. The callback must use the same URL.
 */
function pendingOf({ headers, server }: FastifyRequest): (Pending & { readonly from: string }) | null {
  const text = server.parseCookie(headers.cookie ?? '')[PENDING_COOKIE] ?? ''
  const kept = parsedJson(Buffer.from(text, 'base64url').toString())
  if (!isObject(kept)) return null
  const { state, nonce, verifier, from } = kept
  const isWhole = [state, nonce, verifier].every((part) => typeof part === 'string' && /^[\w-]{20,128}$/.test(part))
  return isWhole ? { state: String(state), nonce: String(nonce), verifier: String(verifier), from: String(from) } : null
}

function refused(p: AdminParts, reply: FastifyReply, error: unknown): FastifyReply {
  if (error instanceof ProviderAwayError || error instanceof NotVouchedError) {
    // Log only the message. The causes of the error may contain the provider's answer.
    p.log.warn(`a sign-in failed: ${messageOf(error)}`)
    return page(reply, error instanceof ProviderAwayError ? 503 : 400, messageOf(error))
  }
  throw error
}

function page(reply: FastifyReply, status: number, sentence: string): FastifyReply {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in · submission-mirror</title>
<main><h1>Not signed in</h1><p role="alert">${escaped(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`)}</p><p><a href="/console/">Back</a></p></main></html>\n`
  return reply.code(status).type('text/html; charset=utf-8').send(html)
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
