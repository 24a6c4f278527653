import { tokenLifeSeconds } from '../../base/service-http.ts'
import type { FetchedToken } from '../../base/token-holder.ts'
import { serviceError } from '../errors.ts'
import { urlOf } from '../http/paths.ts'
import { type Reads, readBody } from '../http/reading.ts'
import { bodyText, errorAnswer, sendOnce, type Wire } from '../http/wire.ts'
import { type Metadata, metadataSchema, type Token, tokenSchema } from '../schemas/oauth.ts'

/** Tokens are renewed this many seconds before they expire, but not before half of their lifetime has passed. */
const EARLY_S = 300

/**
 * Posts a form to a path below the base URL (traps 41, 42).
 * @throws ServiceError, Unreachable, UnexpectedAnswer.
 */
export async function postForm<T>(
  wire: Wire,
  path: string,
  fields: Readonly<Record<string, string | undefined>>,
  schema: Reads<T>,
  signal?: AbortSignal,
): Promise<T> {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined)
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  return await ask(wire, path, { method: 'POST', headers, body: new URLSearchParams(given).toString() }, schema, signal)
}

/**
 * Posts JSON without a token.
 * @throws as `postForm`.
 */
export async function postJson<T>(wire: Wire, path: string, json: unknown, schema: Reads<T>, signal?: AbortSignal): Promise<T> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return await ask(wire, path, { method: 'POST', headers, body: JSON.stringify(json) }, schema, signal)
}

/**
 * @returns the metadata of the authorization server. The request needs no token.
 * @throws as `postForm`.
 */
export function metadata(wire: Wire): Promise<Metadata> {
  const init = { method: 'GET', headers: { accept: 'application/json' } }
  return ask(wire, '/oauth/.well-known/oauth-authorization-server', init, metadataSchema)
}

async function ask<T>(wire: Wire, path: string, init: RequestInit, schema: Reads<T>, signal?: AbortSignal): Promise<T> {
  const what = `${init.method} ${path}`
  const answer = await sendOnce(wire, what, urlOf(wire.baseUrl, path), init, signal)
  if (!answer.ok) throw serviceError(what, await errorAnswer(wire, what, answer), false)
  return readBody(schema, what, answer.status, await bodyText(wire, what, answer))
}

export interface Granted {
  readonly accessToken: string
  readonly refreshToken: string | null
  /** When to renew the access token, in ms since the epoch. */
  readonly renewAtMs: number
}

/** @returns the tokens in the form that `TokenHolder` expects. */
export function fetched({ accessToken, refreshToken, renewAtMs }: Granted, { clock }: Wire): FetchedToken & Pick<Granted, 'refreshToken'> {
  return { token: accessToken, refreshToken, expiresInSeconds: (renewAtMs - clock.now()) / 1000 }
}

/**
 * Requests tokens from the token endpoint.
 * @throws as `postForm`.
 */
export async function exchange(wire: Wire, form: Readonly<Record<string, string | undefined>>, signal?: AbortSignal): Promise<Granted> {
  return granted(await postForm(wire, '/oauth/token', form, tokenSchema, signal), wire.clock.now())
}

function granted(token: Token, nowMs: number): Granted {
  const lifeS = tokenLifeSeconds(token.expires_in)
  const useS = Math.max(lifeS - EARLY_S, lifeS / 2)
  return { accessToken: token.access_token, refreshToken: token.refresh_token ?? null, renewAtMs: nowMs + useS * 1000 }
}
