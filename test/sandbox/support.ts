import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { Contract } from './contract.ts'

/** A sandbox without a story of its own, closed when the test ends. Its answers must hold what the interface promises. */
export async function sandboxFor(options: SandboxOptions = {}): Promise<Sandbox> {
  const contract = new Contract()
  const defaults = { submissions: 0, autoStart: false, retryScheduleMs: [1, 1, 1, 1, 1], observeAnswer: contract.observe }
  const sandbox = await startSandbox({ ...defaults, ...options })
  onTestFinished(async () => {
    await sandbox.close()
    expect(contract.problems).toEqual([])
  })
  return sandbox
}

/** A page of a feed as it came. */
export interface Page {
  readonly status: number
  readonly headers: Headers
  readonly ids: string[]
  readonly next: string | null
}

/** Reads the sandbox's API over HTTP as one account. */
export class Client {
  readonly #sandbox: Sandbox
  readonly #account: string
  #token = ''

  constructor(sandbox: Sandbox, account = 'default') {
    this.#sandbox = sandbox
    this.#account = account
  }

  /** Exchanges the account's first credential. `form` replaces or adds fields. */
  async exchange(form: Record<string, string> = {}): Promise<Response> {
    const credential = this.#sandbox.account(this.#account).credentials[0]
    const fields = {
      grant_type: 'client_credentials',
      client_id: credential?.clientId ?? '',
      client_secret: credential?.clientSecret ?? '',
      ...form,
    }
    return fetch(`${this.#sandbox.baseUrl}/oauth/token`, { method: 'POST', body: new URLSearchParams(fields) })
  }

  async login(form: Record<string, string> = {}): Promise<this> {
    const answer = (await (await this.exchange(form)).json()) as { access_token: string }
    this.#token = answer.access_token
    return this
  }

  get(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.#sandbox.baseUrl}${path}`, { ...init, headers: { authorization: `Bearer ${this.#token}` } })
  }

  async page(feed: 'events' | 'thread', submissionId: string, query: Record<string, string> = {}): Promise<Page> {
    const answer = await this.get(`/broker/submissions/${submissionId}/${feed}?${new URLSearchParams(query)}`)
    const body = (await answer.json()) as { events?: { id: string }[]; messages?: { id: string }[]; next_cursor?: string | null }
    const items = (feed === 'events' ? body.events : body.messages) ?? []
    return { status: answer.status, headers: answer.headers, ids: items.map((item) => item.id), next: body.next_cursor ?? null }
  }

  /** Walks a feed to its end. @returns the ids in the order of the pages, and the last cursor that was given. */
  async walk(
    feed: 'events' | 'thread',
    submissionId: string,
    query: Record<string, string> = {},
  ): Promise<{ ids: string[]; cursor: string | null; pages: number }> {
    const ids: string[] = []
    let cursor = query['since'] ?? null
    for (let pages = 1; ; pages++) {
      const page = await this.page(feed, submissionId, cursor === null ? query : { ...query, since: cursor })
      ids.push(...page.ids)
      if (page.next === null) return { ids, cursor, pages }
      cursor = page.next
    }
  }
}

/** One delivery as it arrived. */
export interface Arrival {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A webhook endpoint on loopback that answers as `answerWith` says: a status, 'cut' to end the connection, 'never' to say nothing. */
export class Endpoint {
  readonly arrivals: Arrival[] = []
  readonly url: string

  private constructor(url: string) {
    this.url = url
  }

  static async open(answerWith: (arrival: Arrival) => number | 'cut' | 'never' = () => 204): Promise<Endpoint> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const arrival = { headers: request.headers, body: Buffer.concat(chunks).toString() }
        endpoint.arrivals.push(arrival)
        const answer = answerWith(arrival)
        if (answer === 'cut') request.socket.destroy()
        else if (answer !== 'never') response.writeHead(answer).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const endpoint = new Endpoint(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`)
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    return endpoint
  }

  /** @returns what each arrival says its kind is, with the ids of its items. */
  get contents(): { type: string; submission_id?: string; ids: string[] }[] {
    return this.arrivals.map(({ body }) => {
      const parsed = JSON.parse(body) as { type: string; submission_id?: string; events?: { id: string }[]; message?: { id: string } }
      const ids = parsed.message ? [parsed.message.id] : (parsed.events ?? []).map((event) => event.id)
      return { type: parsed.type, ...(parsed.submission_id !== undefined && { submission_id: parsed.submission_id }), ids }
    })
  }
}
