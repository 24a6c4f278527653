import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isObject } from '../../src/model/json.ts'

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
 * The fault of one write. Not stored: `refuse` answers 500, `busy` as the vendor throttles, `page` 200 with a foreign web page, `drop` breaks the connection.
 * Stored: `lose` breaks the connection, `hang` never answers, `fall` answers 500. `take` stores it without a fault.
 */
export type Fault = 'refuse' | 'busy' | 'page' | 'drop' | 'lose' | 'hang' | 'fall' | 'take'

/** A note as a vendor's system holds it. */
export interface StoredNote {
  readonly id: string
  /** The record that it hangs on. */
  readonly client: string
  readonly text: string
}

/** A target of notes: what the presets' common tests need of it. */
export interface NotesEmulator extends EmulatorServer {
  /** The oldest first. */
  readonly notes: readonly StoredNote[]
  /** No token that was given is good any more. */
  revokeTokens(): void
  /** Nobody gets in any more: the credentials are refused. */
  withdraw(): void
  /** Somebody deletes a note. */
  remove(id: string): void
  /** Somebody writes another text into a note; of an empty one the system answers null. */
  rewrite(id: string, text: string): void
}

/** @returns what people do with notes of a system by hand. */
export function byHand<N extends StoredNote>(notes: N[], rewritten: (note: N, text: string) => N = (note, text) => ({ ...note, text })) {
  const placeOf = (id: string) => {
    const place = notes.findIndex((note) => note.id === id)
    if (place === -1) throw new Error(`there is no note ${id}`)
    return place
  }
  return {
    remove: (id: string) => void notes.splice(placeOf(id), 1),
    rewrite: (id: string, text: string) => {
      const place = placeOf(id)
      notes[place] = rewritten(notes[place] as N, text)
    },
  }
}

const BUSY: Reply = { status: 429, headers: { 'retry-after': '2' }, body: '' }
const BROKEN: Reply = { status: 500, body: { title: 'Internal Server Error', status: 500 } }

/** A server on loopback with the API of one vendor. */
export interface EmulatorServer {
  readonly url: string
  /** All requests, in order. */
  readonly arrived: readonly Arrived[]
  /** Faults of the next writes, one each. */
  fail(...faults: readonly Fault[]): void
  /** Faults of the next reads, one each: of what bears a token and is no write. */
  failReads(...faults: readonly Fault[]): void
  /** Number of faults that have not happened yet. */
  left(): number
  close(): Promise<void>
}

/**
 * @param answer handles a request; its changes are made when it returns.
 * @param isWrite whether faults apply to a request.
 * @param busy how the vendor throttles.
 */
export async function startServer(
  answer: (request: Arrived) => Reply,
  isWrite: (request: Arrived) => boolean,
  busy = BUSY,
): Promise<EmulatorServer> {
  const arrived: Arrived[] = []
  const faults: Fault[] = []
  const readFaults: Fault[] = []
  const server = createServer((message, response) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', () => {
      const url = new URL(message.url ?? '/', 'http://emulator')
      const body = Buffer.concat(chunks).toString()
      const request = { method: message.method ?? '', path: url.pathname, query: url.searchParams, headers: message.headers, body }
      arrived.push(request)
      const isRead = request.headers.authorization?.startsWith('Bearer ')
      const fault = isWrite(request) ? faults.shift() : isRead ? readFaults.shift() : undefined
      if (fault === 'drop') return response.socket?.destroy()
      if (fault === 'refuse') return write(response, BROKEN)
      if (fault === 'page') return write(response, { status: 200, type: 'text/html', body: '<html>Down for maintenance</html>' })
      if (fault === 'busy') return write(response, busy)
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
    failReads: (...next) => void readFaults.push(...next),
    left: () => [...faults, ...readFaults].filter((fault) => fault !== 'take').length,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** @returns the JSON object in the body of a request; null for anything else. */
export function jsonIn({ headers, body }: Arrived): Readonly<Record<string, unknown>> | null {
  if (!headers['content-type']?.startsWith('application/json')) return null
  const parsed: unknown = JSON.parse(body)
  return isObject(parsed) ? parsed : null
}

/** Tokens that were given, and whether there are any to be had. */
export class Tokens {
  readonly #given = new Set<string>()
  /** How many were given. */
  count = 0
  allowed = true

  give(): string {
    this.count += 1
    const token = `token-${randomUUID()}`
    this.#given.add(token)
    return token
  }

  /** Whether a request bears one. */
  isIn({ headers }: Arrived): boolean {
    return this.allowed && this.#given.has(headers.authorization?.replace(/^Bearer /, '') ?? '')
  }

  revoke(): void {
    this.#given.clear()
  }

  withdraw(): void {
    this.allowed = false
  }
}

function write(response: ServerResponse, { status, type = 'application/json', headers = {}, body }: Reply): void {
  response.writeHead(status, { 'content-type': type, ...headers }).end(typeof body === 'string' ? body : JSON.stringify(body))
}
