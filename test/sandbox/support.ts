import { createServer, type IncomingHttpHeaders } from 'node:http'
import { expect, onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { whole } from '../tools/servers.ts'
import { listeningHere } from '../tools/test-server.ts'
import { Contract } from './contract.ts'

/** A sandbox without a story, closed at the end of the test. Checks its answers against the document. */
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

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  readonly body: any
}

export async function replyOf(asked: Response | Promise<Response>): Promise<Reply> {
  const answer = await asked
  return { status: answer.status, headers: answer.headers, body: JSON.parse((await answer.text()) || 'null') }
}

/** Calls the sandbox's own routes, by POST with a body. */
export function ask({ origin }: Sandbox, path: string, body?: object, init: RequestInit = {}): Promise<Reply> {
  const post = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  return replyOf(fetch(`${origin}/_sandbox${path}`, { ...post, ...init }))
}

/** Posts a form without a token, as for `/oauth`. */
export function postForm({ baseUrl }: Pick<Sandbox, 'baseUrl'>, path: string, form: Record<string, string>): Promise<Reply> {
  return replyOf(fetch(`${baseUrl}${path}`, { method: 'POST', body: new URLSearchParams(form) }))
}

export function register({ baseUrl }: Sandbox, body: object): Promise<Reply> {
  const headers = { 'content-type': 'application/json' }
  return replyOf(fetch(`${baseUrl}/oauth/register`, { method: 'POST', headers, body: JSON.stringify(body) }))
}

export function me({ baseUrl }: Pick<Sandbox, 'baseUrl'>, token: unknown): Promise<Reply> {
  return replyOf(fetch(`${baseUrl}/broker/me`, { headers: { authorization: `Bearer ${token}` } }))
}

interface Page {
  readonly status: number
  readonly headers: Headers
  readonly ids: string[]
  readonly next: string | null
}

export class Client {
  readonly #sandbox: Sandbox
  readonly #account: string
  #token = ''

  constructor(sandbox: Sandbox, account = 'default') {
    this.#sandbox = sandbox
    this.#account = account
  }

  /** Exchanges the account's first credential. @param form replaces or adds fields. */
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

  /** Reads a feed to its end. @returns the ids in page order, and the last cursor. */
  async readFeed(
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

export interface Arrival {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A webhook endpoint on loopback. `answerWith`: a status, 'cut' to end the connection, 'never' for no answer. */
export class Endpoint {
  readonly arrivals: Arrival[] = []
  readonly url: string

  private constructor(url: string) {
    this.url = url
  }

  static async open(answerWith: (arrival: Arrival) => number | 'cut' | 'never' = () => 204): Promise<Endpoint> {
    const server = createServer(
      whole((request, response, body) => {
        const arrival = { headers: request.headers, body }
        endpoint.arrivals.push(arrival)
        const answer = answerWith(arrival)
        if (answer === 'cut') request.socket.destroy()
        else if (answer !== 'never') response.writeHead(answer).end()
      }),
    )
    const endpoint = new Endpoint(`http://127.0.0.1:${await listeningHere(server)}/hook`)
    return endpoint
  }

  /** @returns the kind and item ids of each arrival. */
  get contents(): { type: string; submission_id?: string; ids: string[] }[] {
    return this.arrivals.map(({ body }) => {
      const parsed = JSON.parse(body) as { type: string; submission_id?: string; events?: { id: string }[]; message?: { id: string } }
      const ids = parsed.message ? [parsed.message.id] : (parsed.events ?? []).map((event) => event.id)
      return { type: parsed.type, ...(parsed.submission_id !== undefined && { submission_id: parsed.submission_id }), ids }
    })
  }
}
