import { LoginNeeded } from '../errors.ts'
import { urlOf } from '../http/paths.ts'
import type { Wire } from '../http/wire.ts'
import { registeredSchema } from '../schemas/oauth.ts'
import type { Auth } from './auth.ts'
import { afterLogin, type Login } from './login.ts'
import { exchange, type Granted, postJson } from './token-endpoint.ts'

export interface LoopbackLogin extends Login {
  /**
   * Id of a client that is registered for `http://127.0.0.1/callback` with any port. Without an id, the client
   * registers itself (RFC 7591).
   */
  readonly clientId?: string
  /** Name that the client registers itself with. */
  readonly clientName?: string
  readonly scope?: string
  /** Opens the address in the user's browser. */
  open(url: string): void | Promise<void>
  /** Time limit of the login in ms. Default: 300,000. */
  readonly waitMs?: number
}

const WAIT_MS = 300_000

/**
 * Logs a user in through the browser of this machine, with PKCE (RFC 8252). After the login, the service redirects the
 * browser to a local port. Requires `node:http`.
 */
export function loopbackLogin(options: LoopbackLogin): Auth {
  let clientId = options.clientId ?? ''
  return afterLogin(
    options,
    () => clientId,
    async (wire, signal) => {
      const state = randomText(24)
      const redirect = await listen(state, options.waitMs ?? WAIT_MS, signal)
      try {
        clientId = options.clientId ?? (await register(wire, options.clientName, redirect.uri, signal))
        return await granted(wire, options, { clientId, state, redirect }, signal)
      } finally {
        await redirect.close()
      }
    },
  )
}

async function register(wire: Wire, name: string | undefined, uri: string, signal?: AbortSignal): Promise<string> {
  const body = { client_name: name ?? 'submission-mirror client', redirect_uris: [uri] }
  const { client_id } = await postJson(wire, '/oauth/register', body, registeredSchema, signal)
  if (client_id === undefined) throw new LoginNeeded('The service registered no client. Set clientId.')
  return client_id
}

interface Attempt {
  readonly clientId: string
  readonly state: string
  readonly redirect: Redirect
}

async function granted(wire: Wire, { scope, open }: LoopbackLogin, attempt: Attempt, signal?: AbortSignal): Promise<Granted> {
  const { clientId, state, redirect } = attempt
  const verifier = randomText(48)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  await open(
    urlOf(wire.baseUrl, '/oauth/authorize', {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirect.uri,
      scope,
      state,
      code_challenge: base64url(new Uint8Array(digest)),
      code_challenge_method: 'S256',
    }),
  )
  const answer = await redirect.answer
  const code = answer.get('code')
  if (code === null) throw new LoginNeeded(`The login was rejected (${answer.get('error') ?? 'no reason given'}). Log in again.`)
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirect.uri, client_id: clientId }
  return await exchange(wire, form, signal).catch((error: unknown) => {
    signal?.throwIfAborted()
    // A retry would fail: a code works only once, and the failed request may have used it.
    throw new LoginNeeded(`The login failed (${(error as Error).message}). Log in again.`)
  })
}

interface Redirect {
  readonly uri: string
  /** Query parameters of the redirect to the local port. */
  readonly answer: Promise<URLSearchParams>
  close(): Promise<unknown>
}

async function listen(state: string, waitMs: number, signal?: AbortSignal): Promise<Redirect> {
  const { createServer } = await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>()
  // Without this handler, Node would end the process if `promise` rejected before anyone awaits it.
  promise.catch(() => undefined)
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (url.pathname !== '/callback') return response.writeHead(404).end()
    const say = (status: number, sentence: string) =>
      response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(sentence)
    // Any web page may call this address. Only the redirect of this login knows `state`.
    if (url.searchParams.get('state') !== state) return say(400, 'This redirect belongs to another login.')
    const isGranted = url.searchParams.has('code')
    say(200, isGranted ? 'You are logged in. You can close this page.' : 'The login was rejected. You can close this page.')
    return resolve(url.searchParams)
  })
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening))
  const address = server.address()
  const timer = setTimeout(() => reject(new LoginNeeded('The login was not completed in time. Log in again.')), waitMs)
  signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  return {
    uri: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/callback`,
    answer: promise,
    async close() {
      clearTimeout(timer)
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

function randomText(bytes: number): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
