import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as it arrived. */
export interface Arrived {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** The answer. */
export interface Reply {
  readonly status: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * The fault of one write. Not stored: `refuse` answers 500, `busy` 429, `page` 200 with a foreign web page, `drop` breaks the connection.
 * Stored: `lose` breaks the connection, `hang` never answers, `fall` answers 500. `take` stores it without a fault.
 */
export type Fault = 'refuse' | 'busy' | 'page' | 'drop' | 'lose' | 'hang' | 'fall' | 'take'

const BROKEN: Reply = { status: 500, body: { title: 'Internal Server Error', status: 500 } }

/** A server on loopback with the API of one vendor. */
export interface EmulatorServer {
  readonly url: string
  /** All requests, in order. */
  readonly arrived: readonly Arrived[]
  /** Faults of the next writes, one each. */
  fail(...faults: readonly Fault[]): void
  /** Number of faults that have not happened yet. */
  left(): number
  close(): Promise<void>
}

/**
 * @param answer handles a request; its changes are made when it returns.
 * @param isWrite whether faults apply to a request.
 */
export async function startServer(answer: (request: Arrived) => Reply, isWrite: (request: Arrived) => boolean): Promise<EmulatorServer> {
  const arrived: Arrived[] = []
  const faults: Fault[] = []
  const server = createServer((message, response) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', () => {
      const url = new URL(message.url ?? '/', 'http://emulator')
      const body = Buffer.concat(chunks).toString()
      const request = { method: message.method ?? '', path: url.pathname, query: url.searchParams, headers: message.headers, body }
      arrived.push(request)
      const fault = isWrite(request) ? faults.shift() : undefined
      if (fault === 'drop') return response.socket?.destroy()
      if (fault === 'refuse') return write(response, BROKEN)
      if (fault === 'page') return write(response, { status: 200, type: 'text/html', body: '<html>Down for maintenance</html>' })
      if (fault === 'busy') return write(response, { status: 429, headers: { 'retry-after': '2' }, body: '' })
      const reply = answer(request)
      if (fault === 'lose') return response.socket?.destroy()
      if (fault !== 'hang') write(response, fault === 'fall' ? BROKEN : reply)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    fail: (...next) => void faults.push(...next),
    left: () => faults.filter((fault) => fault !== 'take').length,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function write(response: ServerResponse, { status, type = 'application/json', headers = {}, body }: Reply): void {
  response.writeHead(status, { 'content-type': type, ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body))
}
