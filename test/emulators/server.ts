import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { isObject } from '../../src/model/json.ts'
import { closed, listening, whole } from '../tools/servers.ts'

export interface Arrived {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Reply {
  readonly status: number
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
}

/**
 * The fault of one write. Not stored: `refuse` answers 500, `busy` throttles as the vendor does, `page` answers 200 with a foreign web
 * page, `drop` breaks the connection. Stored: `lose` breaks the connection, `hang` never answers, `fall` answers 500. `take` has no fault.
 */
export type Fault = 'refuse' | 'busy' | 'page' | 'drop' | 'lose' | 'hang' | 'fall' | 'take'

export interface StoredNote {
  readonly id: string
  readonly client: string
  readonly text: string
}

/** A target of notes: what the presets' common tests need of it. */
export interface NotesEmulator extends EmulatorServer {
  readonly notes: readonly StoredNote[]
  revokeTokens(): void
  withdraw(): void
  remove(id: string): void
  /** A person rewrites a note; for an empty one the system answers null. */
  rewrite(id: string, text: string): void
}

/** @returns what people do with notes by hand. */
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

export interface EmulatorServer {
  readonly url: string
  readonly arrived: readonly Arrived[]
  fail(...faults: readonly Fault[]): void
  failReads(...faults: readonly Fault[]): void
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
  const server = createServer(
    whole(({ method = '', url = '/', headers }, response, body) => {
      const { pathname: path, searchParams: query } = new URL(url, 'http://emulator')
      const request = { method, path, query, headers, body }
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
    }),
  )
  return {
    url: `http://127.0.0.1:${await listening(server)}`,
    arrived,
    fail: (...next) => void faults.push(...next),
    failReads: (...next) => void readFaults.push(...next),
    left: () => [...faults, ...readFaults].filter((fault) => fault !== 'take').length,
    close: () => closed(server),
  }
}

export function jsonIn({ headers, body }: Arrived): Readonly<Record<string, unknown>> | null {
  if (!headers['content-type']?.startsWith('application/json')) return null
  const parsed: unknown = JSON.parse(body)
  return isObject(parsed) ? parsed : null
}

export class Tokens {
  readonly #given = new Set<string>()
  count = 0
  allowed = true

  give(): string {
    this.count += 1
    const token = `token-${randomUUID()}`
    this.#given.add(token)
    return token
  }

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
