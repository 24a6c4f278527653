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

/** What goes back. */
export interface Reply {
  readonly status: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * What goes wrong with one write: `refuse` and `busy` answer 500 and 429 without taking it, and so does `page`, with the 200 of somebody
 * else's page; `drop` breaks the connection before it is taken. `lose`, `hang` and `fall` take it, and then break the connection, never
 * answer, or answer 500. With `take` nothing goes wrong.
 */
export type Fault = 'refuse' | 'busy' | 'page' | 'drop' | 'lose' | 'hang' | 'fall' | 'take'

const BROKEN: Reply = { status: 500, body: { title: 'Internal Server Error', status: 500 } }

/** A server on loopback that speaks one vendor's contract. */
export interface EmulatorServer {
  readonly url: string
  /** Everything that was asked, in order. */
  readonly arrived: readonly Arrived[]
  /** The next writes fail like this, one each. */
  fail(...faults: readonly Fault[]): void
  /** How many faults have not come to pass yet. */
  left(): number
  close(): Promise<void>
}

/**
 * @param answer answers what arrives; what it changes is changed when it returns.
 * @param isWrite which requests faults are for.
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
