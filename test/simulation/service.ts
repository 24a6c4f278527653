import { Agent, type Dispatcher } from 'undici'
import { page } from '../../src/sandbox/http/pages.ts'
import { outstandingView, sessionsView, workspaceView } from '../../src/sandbox/service/details.ts'
import { FaultInjector } from '../../src/sandbox/service/faults.ts'
import { requirementsView } from '../../src/sandbox/service/requirements.ts'
import type { Unshown } from '../../src/sandbox/service/unshown.ts'
import { answerOf } from '../../src/sandbox/service/variants.ts'
import type { Prng } from '../../src/sandbox/world/prng.ts'
import type { Submission } from '../../src/sandbox/world/submission.ts'
import type { World } from '../../src/sandbox/world/world.ts'
import { world as outside, type Scheduler } from './scheduler.ts'
import type { Weather } from './weather.ts'

export const ACCOUNT = 'default'
export const BASE_URL = 'http://service.invalid/api/v1'
const BASE_PATH = '/api/v1'
/** Few items per page, so that every feed has several pages. */
const PAGE_ITEMS = '4'
const TOKEN_LIFETIME_MS = 600_000
const LATENCY_MS = 80
const SLOW_MS = 9_000

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const STATE_READS: Readonly<Record<string, readonly [operation: string, view: (submission: Submission, nowMs: number) => unknown]>> = {
  requirements: ['requirements', requirementsView],
  'outstanding-requirements': ['outstanding', outstandingView],
  'application-workspace': ['workspace', workspaceView],
  'api-quotes/sessions': ['sessions', sessionsView],
}

interface Page {
  readonly next_cursor?: string | null
  readonly events?: readonly { readonly id: string }[]
  readonly messages?: readonly { readonly id: string }[]
}

interface Cut {
  readonly cut: boolean
}

/** The service's API without sockets: it answers undici's requests, late, wrongly or never. */
export class Service {
  /** Every issued cursor, by feed and submission, with its page's items. */
  readonly cursors = new Map<string, Map<string, readonly string[]>>()
  readonly #world: World
  readonly #scheduler: Scheduler
  readonly #weather: Weather
  readonly #prng: Prng
  readonly #unshown: Unshown
  readonly #faults: FaultInjector
  readonly #tokens = new Map<string, number>()
  readonly hidden = new Set<string>()
  #minted = 0

  constructor(parts: { world: World; scheduler: Scheduler; weather: Weather; prng: Prng; unshown: Unshown }) {
    this.#world = parts.world
    this.#scheduler = parts.scheduler
    this.#weather = parts.weather
    this.#prng = parts.prng
    this.#unshown = parts.unshown
    this.#faults = new FaultInjector(parts.prng.fork('pages'), () => {})
    this.#faults.set(parts.weather.pageFaults())
  }

  clear(): void {
    this.#faults.set([])
    this.hidden.clear()
  }

  listen(): void {
    Agent.prototype.dispatch = (options, handler) => {
      new Exchange(options, handler, this.#scheduler, this.#weather, this.#prng, () => this.#answer(options)).start()
      return true
    }
  }

  #answer({ path, headers, body }: Dispatcher.DispatchOptions): Answer {
    const url = new URL(path, BASE_URL)
    const given = (headers ?? {}) as Record<string, string>
    if (url.pathname === `${BASE_PATH}/oauth/token`) return this.#token(String(body))
    const token = /^Bearer (.+)$/.exec(given['authorization'] ?? '')?.[1] ?? ''
    if ((this.#tokens.get(token) ?? 0) < this.#scheduler.now)
      return { status: 401, body: { detail: 'Invalid or expired token' }, headers: { 'www-authenticate': 'Bearer' } }
    const weather = this.#weather
    if (weather.strikes('throttled'))
      return { status: 429, body: { detail: 'slow down' }, headers: { 'retry-after': String(this.#prng.int(1, 8)) } }
    if (weather.strikes('serverError')) return { status: this.#prng.pick([500, 502, 503]), body: 'trouble' }
    if (weather.strikes('html')) return { status: 200, body: '<!doctype html><p>We will be right back</p>' }
    if (url.pathname === `${BASE_PATH}/broker/me`) return { status: 200, body: IDENTITY }
    if (weather.strikes('forbidden')) return { status: 403, body: { detail: 'No access' } }
    return this.#read(url)
  }

  #token(form: string): Answer {
    const { client_secret: secret } = Object.fromEntries(new URLSearchParams(form))
    if (secret !== CREDENTIAL.secret || this.#weather.strikes('tokenRefused')) return { status: 401, body: { error: 'invalid_client' } }
    if (this.#weather.strikes('serverError')) return { status: 503, body: 'trouble' }
    const token = `token-${++this.#minted}`
    const livesMs = this.#weather.strikes('tokenDiesEarly') ? this.#prng.int(0, 5_000) : TOKEN_LIFETIME_MS
    this.#tokens.set(token, this.#scheduler.now + livesMs)
    return { status: 200, body: { access_token: token, token_type: 'bearer', expires_in: TOKEN_LIFETIME_MS / 1000 } }
  }

  #read({ pathname, searchParams }: URL): Answer {
    const [, submissionId = '', read = ''] = /\/broker\/submissions\/([^/]+)\/(.+)$/.exec(pathname) ?? []
    const submission = this.#world.submissions(ACCOUNT).get(submissionId)
    if (submission === undefined || this.hidden.has(submissionId) || this.#weather.strikes('notFound'))
      return { status: 404, body: { detail: 'Submission not found' } }
    const state = STATE_READS[read]
    if (state !== undefined) {
      const [operation, view] = state
      return { status: 200, body: answerOf(operation, view(submission, this.#scheduler.trueMs), this.#unshown) }
    }
    // Bind requests and their records are not simulated.
    if (read !== 'events' && read !== 'thread') return { status: 404, body: { detail: 'Not found' } }
    const feed = read === 'events' ? submission.events : submission.thread
    const request = { account: ACCOUNT, submissionId, since: searchParams.get('since') ?? undefined, limit: PAGE_ITEMS }
    const answer = page(read as 'events', feed as typeof submission.events, request, { faults: this.#faults, unshown: this.#unshown })
    const { next_cursor: cursor, events, messages } = answer.body as Page
    const items = (events ?? messages ?? []).map(({ id }) => id)
    if (typeof cursor === 'string') this.#handOut(submissionId, read, cursor, items)
    return answer
  }

  /** Several pages may end in one cursor; the items common to all precede it. */
  #handOut(submissionId: string, read: string, cursor: string, items: readonly string[]): void {
    const key = `${submissionId} ${read}`
    const known = this.cursors.get(key) ?? new Map()
    this.cursors.set(key, known)
    const before = known.get(cursor) as readonly string[] | undefined
    const both = before?.length ? before.filter((id) => items.length === 0 || items.includes(id)) : items
    known.set(cursor, both)
  }
}

export const CREDENTIAL = { id: 'bac_simulated', secret: 'bas_simulated' }
const IDENTITY = {
  kind: 'api_client',
  client_id: CREDENTIAL.id,
  scope: 'broker_mcp',
  brokerage: { id: '00000000-0000-4000-8000-000000000001', name: 'Simulated Brokerage' },
}

class Exchange implements Dispatcher.DispatchController {
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: Buffer[] = []
  rawTrailers: Buffer[] = []
  readonly #options: Dispatcher.DispatchOptions
  readonly #handler: Dispatcher.DispatchHandler
  readonly #scheduler: Scheduler
  readonly #weather: Weather
  readonly #prng: Prng
  readonly #compute: () => Answer
  #ended = false

  constructor(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    scheduler: Scheduler,
    weather: Weather,
    prng: Prng,
    compute: () => Answer,
  ) {
    this.#options = options
    this.#handler = handler
    this.#scheduler = scheduler
    this.#weather = weather
    this.#prng = prng
    this.#compute = compute
  }

  pause(): void {}
  resume(): void {}

  abort(reason: Error): void {
    this.aborted = true
    this.reason = reason
    this.#fail(reason)
  }

  start(): void {
    const client = this.#scheduler.current
    this.#handler.onRequestStart?.(this, null)
    if (this.#ended) return
    const { path } = this.#options
    if (this.#weather.strikes('requestLost')) return
    if (this.#weather.strikes('requestRefused')) {
      this.#scheduler.after(1, `refused ${path}`, () => this.#fail(codeError('ECONNREFUSED')))
      return
    }
    const there = this.#prng.next() * LATENCY_MS
    const back = this.#prng.next() * (this.#weather.strikes('answerSlow') ? SLOW_MS : LATENCY_MS)
    // The service answers even if the client dies.
    const arrive = () => {
      const answer = this.#compute()
      if (this.#weather.strikes('answerLost')) return
      const cut: Cut = { cut: this.#weather.strikes('answerCut') }
      this.#scheduler.after(back, `answer ${answer.status} ${path}`, () => this.#deliver(answer, cut), client)
    }
    this.#scheduler.after(there, `request ${path}`, arrive, outside)
  }

  #deliver({ status, body, headers }: Answer, { cut }: Cut): void {
    if (this.#ended) return
    const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
    const all = { 'content-type': 'application/json', date: new Date(this.#scheduler.trueMs).toUTCString(), ...headers }
    this.#handler.onResponseStart?.(this, status, all, '')
    if (cut) {
      this.#handler.onResponseData?.(this, bytes.subarray(0, bytes.length >> 1))
      this.#fail(codeError('ECONNRESET'))
      return
    }
    this.#ended = true
    this.#handler.onResponseData?.(this, bytes)
    this.#handler.onResponseEnd?.(this, {})
  }

  #fail(error: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#handler.onResponseError?.(this, error)
  }
}

function codeError(code: string): Error {
  return Object.assign(new Error(code), { code })
}
