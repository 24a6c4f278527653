import { LoginNeeded } from '../errors.ts'
import { urlOf } from '../http/paths.ts'
import type { Wire } from '../http/wire.ts'
import { registeredSchema } from '../schemas/oauth.ts'
import type { Auth } from './auth.ts'
import { afterLogin, type Login } from './login.ts'
import { exchange, type Granted, postJson } from './token-endpoint.ts'

export interface LoopbackLogin extends Login {
  /** A client that was registered for `http://127.0.0.1`; without it the client registers itself (RFC 7591). */
  readonly clientId?: string
  /** The name under which it registers itself. */
  readonly clientName?: string
  readonly scope?: string
  /** Opens the address in the person's browser. */
  open(url: string): void | Promise<void>
  /** How long the person may take, in milliseconds. Default: five minutes. */
  readonly waitMs?: number
}

const WAIT_MS = 300_000

/** RFC 8252: a browser login whose answer comes to a port of this machine, with PKCE. Needs `node:http`. */
export function loopbackLogin(options: LoopbackLogin): Auth {
  let clientId = options.clientId ?? ''
  return afterLogin(
    options,
    () => clientId,
    async (wire, signal) => {
      const redirect = await listen(options.waitMs ?? WAIT_MS, signal)
      try {
        clientId = options.clientId ?? (await register(wire, options.clientName, redirect.uri, signal))
        return await granted(wire, options, clientId, redirect, signal)
      } finally {
        await redirect.close()
      }
    },
  )
}

async function register(wire: Wire, name: string | undefined, uri: string, signal?: AbortSignal): Promise<string> {
  const body = { client_name: name ?? 'submission-mirror client', redirect_uris: [uri] }
  const { client_id } = await postJson(wire, '/oauth/register', body, registeredSchema, signal)
  if (client_id === undefined) throw new LoginNeeded('the service registered no client: give a clientId')
  return client_id
}

async function granted(
  wire: Wire,
  { scope, open }: LoopbackLogin,
  clientId: string,
  redirect: Redirect,
  signal?: AbortSignal,
): Promise<Granted> {
  const [verifier, state] = [randomText(48), randomText(24)]
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
  if (answer.get('state') !== state) throw new LoginNeeded('the answer of the login belongs to another one: start it again')
  const code = answer.get('code')
  if (code === null) throw new LoginNeeded(`the login was refused (${answer.get('error') ?? 'without a reason'}): start it again`)
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirect.uri, client_id: clientId }
  return await exchange(wire, form, signal)
}

interface Redirect {
  readonly uri: string
  /** What the browser brought. */
  readonly answer: Promise<URLSearchParams>
  close(): Promise<unknown>
}

async function listen(waitMs: number, signal?: AbortSignal): Promise<Redirect> {
  const { createServer } = await import('node:http')
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>()
  // Whoever asks may have given up before.
  promise.catch(() => undefined)
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (url.pathname !== '/callback') return response.writeHead(404).end()
    response
      .writeHead(200, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
      .end('You are logged in. You may close this page.')
    return resolve(url.searchParams)
  })
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening))
  const address = server.address()
  const timer = setTimeout(() => reject(new LoginNeeded('nobody logged in in time: start the login again')), waitMs)
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
