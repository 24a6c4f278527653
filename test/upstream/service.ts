import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createUpstreamClient, type UpstreamClient, type UpstreamOptions } from '../../src/upstream/client.ts'
import { Counts } from '../tools/counts.ts'
import { silentLog } from '../tools/databases.ts'
import { closed, whole } from '../tools/servers.ts'
import { listeningHere } from '../tools/test-server.ts'

interface Arrived {
  readonly method: string
  /** Path and query, as sent. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Handler = (request: Arrived, response: ServerResponse) => void

/** A recording server on loopback. Ends with the test. */
export interface Service {
  readonly baseUrl: string
  readonly arrived: Arrived[]
  to(path: string): Arrived[]
  close(): Promise<void>
}

export async function startService(handler: Handler): Promise<Service> {
  const arrived: Arrived[] = []
  const server = createServer(
    whole(({ method = '', url = '', headers }, response, body) => {
      const request = { method, url, headers, body }
      arrived.push(request)
      handler(request, response)
    }),
  )
  const port = await listeningHere(server)
  return {
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    arrived,
    to: (path) => arrived.filter((request) => request.url.includes(path)),
    close: () => closed(server),
  }
}

export function json(response: ServerResponse, body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Adds a token endpoint with token-1, token-2, … to `handler`. */
export function withTokens(handler: Handler): Handler {
  let minted = 0
  return (request, response) => {
    if (!request.url.endsWith('/oauth/token')) return handler(request, response)
    minted += 1
    json(response, { access_token: `token-${minted}` })
  }
}

export const SECRET = 'bas_the-secret-of-the-first-key'
export const SECOND_SECRET = 'bas_the-secret-of-the-second-key'

export const credential = (id: string, secret: string) => ({ id, secret: { reveal: () => secret } })

export function clientOf(service: Service, options: Partial<UpstreamOptions> = {}): UpstreamClient {
  const client = createUpstreamClient({
    account: 'acme',
    baseUrl: service.baseUrl,
    credentials: [credential('bac_first', SECRET)],
    scope: 'broker_mcp',
    requestsPerSecond: 1000,
    proxy: {},
    clock: systemClock,
    observer: new Counts(),
    log: silentLog,
    ...options,
  })
  onTestFinished(() => client.close())
  return client
}

/** The error of `work`, which must fail. */
export async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
