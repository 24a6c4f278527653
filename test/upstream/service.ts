import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Labels, Observer } from '../../src/base/observer.ts'
import { createUpstreamClient, type UpstreamClient, type UpstreamOptions } from '../../src/upstream/client.ts'
import { silentLog } from '../tools/databases.ts'

/** A request as it arrived. */
export interface Arrived {
  readonly method: string
  /** Path and query, as they stood on the wire. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Handler = (request: Arrived, response: ServerResponse) => void

/** A server on loopback that keeps what it was asked. It ends with the test. */
export interface Service {
  readonly baseUrl: string
  readonly arrived: Arrived[]
  /** What was asked of `path` (which may be a part of it). */
  to(path: string): Arrived[]
  close(): Promise<void>
}

export async function startService(handler: Handler): Promise<Service> {
  const arrived: Arrived[] = []
  const server = createServer((message, response) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', () => {
      const request = {
        method: message.method ?? '',
        url: message.url ?? '',
        headers: message.headers,
        body: Buffer.concat(chunks).toString(),
      }
      arrived.push(request)
      handler(request, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  onTestFinished(close)
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    arrived,
    to: (path) => arrived.filter((request) => request.url.includes(path)),
    close,
  }
}

export function json(response: ServerResponse, body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Gives token-1, token-2, … at the token endpoint and leaves the rest to `handler`. */
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

/** An observer that can be asked. */
export class Counts implements Observer {
  readonly counted: string[] = []
  readonly gauges = new Map<string, number>()

  count(name: string, labels: Labels = {}, by = 1): void {
    if (by > 0) this.counted.push(`${name} ${Object.values(labels).join(' ')}`)
  }

  time(): void {}

  set(name: string, value: number): void {
    this.gauges.set(name, value)
  }

  of(line: string): number {
    return this.counted.filter((one) => one === line).length
  }
}

/** It is closed with the test. */
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

/** What `work` throws; fails when it throws nothing. */
export async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
