import type { Clock } from '../base/clock.ts'
import type { Priority } from '../base/limiter.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { ApiChangeWatch } from '../model/api-changes.ts'
import type { IdRead, OwnStateRead } from '../model/reads.ts'
import { anyJson, bodyOf, identityIn, misshapen, type ProbeAnswer, pageIn, viewIn } from './answer-bodies.ts'
import type { HttpAnswer } from './http/answer.ts'
import { Channel, type Pause, type RequestOptions } from './http/channel.ts'
import type { ProxySettings } from './http/dispatcher.ts'
import { runTake, type TakeDocument, type TakeResult } from './http/document.ts'
import { upstreamClass } from './http/errors.ts'
import { Http, type Parts, type Timeouts } from './http/http.ts'
import { type Call, type Operation, pathIdOf, submissionIdOf } from './http/operations.ts'
import { PageSizes } from './http/page-sizes.ts'
import { type Credential, TokenSource } from './token.ts'
import type { FeedPage, Identity } from './wire/answers.ts'

/**
 * Reads from the service for one account. A call sends one request, and sometimes more: to renew a token, or to ask for
 * smaller pages. Callers retry. Default `priority`: `live`.
 * @throws UpstreamTransientError or UpstreamPermanentError; see `class` of the error.
 * @throws PermanentError for an id that isn't a UUID.
 * @throws the reason of `signal` when it aborts.
 */
export interface UpstreamClient {
  /**
   * Reads the identity of the credentials. If token exchanges are suspended because the credentials were refused, ends
   * the suspension first.
   */
  me(signal?: AbortSignal): Promise<Identity>
  /**
   * Reads one page of raw market events.
   * @param since the cursor. Null reads from the beginning.
   */
  events(submissionId: string, since: string | null, signal?: AbortSignal, priority?: Priority): Promise<FeedPage<unknown>>
  /** One page of raw messages. */
  thread(submissionId: string, since: string | null, signal?: AbortSignal, priority?: Priority): Promise<FeedPage<unknown>>
  /** The raw answer of a state read: an object, or a list for `sessions`. */
  state(read: OwnStateRead, submissionId: string, signal?: AbortSignal, priority?: Priority): Promise<unknown>
  /**
   * A raw bind request, policy, or insured.
   * @param submissionId required for a bind request.
   */
  byId(read: IdRead, submissionId: string, id: string, signal?: AbortSignal, priority?: Priority): Promise<unknown>
  /**
   * Gets a document with background priority. A failure doesn't open the circuit. Only a 429 lowers the rate.
   * @param place the document's id, or its path relative to the base URL.
   * @param take receives the bytes. Redirects are not followed.
   * @throws errors of `take`.
   * @throws PermanentError for a path outside the base URL.
   */
  document<T>(place: DocumentPlace, take: TakeDocument<T>, signal?: AbortSignal): Promise<T>
  /**
   * Gets a path from the settings with background priority. A failure affects neither the circuit nor the rate. A
   * refused token isn't renewed.
   * @param path relative to the base URL, with or without a query.
   * @returns the body as text and as JSON.
   */
  probe(path: string, signal?: AbortSignal): Promise<ProbeAnswer>
  /**
   * Milliseconds until requests can be sent; 0 if immediately. More than 0 if the circuit is open, if more than 5 s of
   * a requested pause are left, or if a token exchange just failed. Until then, requests fail.
   */
  waitMs(): number
  /** The current pause that the service requested (trap 49), if more than 5 s are left; otherwise null. */
  pause(): Pause | null
  /** Adopts a pause from another process, unless a longer pause is active. */
  joinPause(pause: Pause): void
  /** The number of requests per second that are allowed now. */
  rate(): number
  /** The service's clock minus ours, in ms. Null if no answer of the last hour had a `Date` header. */
  clockSkewMs(): number | null
  /** Divides the account's rate among this many processes, including this one. */
  shareAmong(processes: number): void
  /** Aborts requests in flight. */
  close(): Promise<void>
}

export type DocumentPlace = { readonly id: string } | { readonly path: string }

interface CredentialWatch {
  took(account: string, clientId: string): void
}

export interface PauseWatch {
  began(account: string, pause: Pause): void
}

export interface UpstreamOptions {
  readonly account: string
  readonly baseUrl: string
  readonly credentials: readonly Credential[]
  readonly scope: string
  readonly requestsPerSecond: number
  readonly proxy: ProxySettings
  readonly clock: Clock
  readonly observer: Observer
  readonly log: Log
  /** Receives each answer, to detect API changes. */
  readonly apiChanges?: ApiChangeWatch | undefined
  /** Receives the client id of each credential that got a token. */
  readonly credentialUses?: CredentialWatch | undefined
  /** Receives each pause of more than 5 s that the service requests. */
  readonly pauses?: PauseWatch | undefined
  readonly timeouts?: Partial<Timeouts>
  readonly bodyLimitBytes?: number
}

const TIMEOUTS: Timeouts = { connectMs: 5_000, headersMs: 10_000, overallMs: 20_000 }
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** Limit of a probe's answer. Parsing a long answer would block the event loop. */
const PROBE_LIMIT_BYTES = 8 * 1024 * 1024
const SUSPEND_MS = 15 * 60_000

/** @returns the client of one account. The client connects on its first request. */
export function createUpstreamClient(options: UpstreamOptions): UpstreamClient {
  const { account, baseUrl, proxy, clock, observer, log } = options
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  const http = new Http({ baseUrl, proxy, timeouts, bodyLimitBytes: options.bodyLimitBytes ?? BODY_LIMIT_BYTES })
  const channel = new Channel(account, http, options.requestsPerSecond, clock, observer, (pause) => options.pauses?.began(account, pause))
  const { credentials, scope } = options
  const onToken = (clientId: string) => options.credentialUses?.took(account, clientId)
  const tokens = new TokenSource(channel, { account, credentials, scope, suspendMs: SUSPEND_MS, onToken }, { clock, observer, log })
  const look = (operation: Operation, body: unknown) => options.apiChanges?.look(account, operation, body)
  const reader = new Reader(channel, tokens, look)
  channel.probeFirst(() => reader.read(callOf('me'), {}, identityIn, {}))
  return {
    me: (signal) => {
      tokens.resume()
      return reader.read(callOf('me'), {}, identityIn, { signal })
    },
    events: (submissionId, since, signal, priority) => reader.page('events', submissionId, since, { signal, priority }),
    thread: (submissionId, since, signal, priority) => reader.page('thread', submissionId, since, { signal, priority }),
    state: async (read, submissionId, signal, priority) =>
      await reader.read(callOf(read, submissionIdOf(submissionId)), {}, viewIn, { signal, priority }),
    byId: async (read, submissionId, id, signal, priority) => {
      const of = read === 'bind_request' ? submissionIdOf(submissionId) : null
      return await reader.read({ ...callOf(read, of), ownId: pathIdOf(id, read) }, {}, viewIn, { signal, priority })
    },
    probe: (path, signal) => reader.probe(path, signal),
    document: (place, take, signal) => reader.document(place, take, signal),
    waitMs: () => Math.max(channel.waitMs(), tokens.waitMs()),
    pause: () => channel.pause,
    joinPause: (pause) => channel.join(pause),
    rate: () => channel.limiter.rate,
    clockSkewMs: () => channel.clockSkewMs,
    shareAmong: (processes) => channel.limiter.shareAmong(processes),
    close: () => channel.close(),
  }
}

interface RequestParts {
  readonly query?: Readonly<Record<string, string>>
  /** Default: the client's limit. */
  readonly bodyLimitBytes?: number | undefined
}

class Reader {
  readonly #channel: Channel
  readonly #tokens: TokenSource
  readonly #look: (operation: Operation, body: unknown) => void
  readonly #pageSizes = new PageSizes()

  constructor(channel: Channel, tokens: TokenSource, look: (operation: Operation, body: unknown) => void) {
    this.#channel = channel
    this.#tokens = tokens
    this.#look = look
  }

  async page(feed: 'events' | 'thread', submissionId: string, since: string | null, options: RequestOptions): Promise<FeedPage<unknown>> {
    const call = callOf(feed, submissionIdOf(submissionId), since !== null)
    for (;;) {
      const { items, bodyLimitBytes } = this.#pageSizes.of(call)
      const limit = String(items)
      // Without a cursor, send no `since`. An empty `since=` would be an invalid cursor (trap 4).
      const query = since === null ? { limit } : { since, limit }
      try {
        return await this.read(call, { query, bodyLimitBytes }, (_, body, chars) => this.#pageIn(call, body, chars), options)
      } catch (error) {
        if (upstreamClass(error) !== 'oversized' || !this.#pageSizes.lower(call)) throw error
      }
    }
  }

  #pageIn(call: Call, body: unknown, chars: number): FeedPage<unknown> {
    const page = pageIn(call, body)
    this.#pageSizes.fitted(call, chars)
    return page
  }

  async probe(path: string, signal: AbortSignal | undefined): Promise<ProbeAnswer> {
    const call = callOf('probe')
    const token = await this.#tokens.get(signal)
    const [pathname = '', query = ''] = path.split('?', 2)
    const parts = {
      path: pathname,
      query: new URLSearchParams(query),
      headers: { authorization: `Bearer ${token}` },
      bodyLimitBytes: PROBE_LIMIT_BYTES,
    }
    return await this.#channel.run(call, parts, (answer) => anyJson(call, answer), { signal, priority: 'background', isProbe: true })
  }

  async document<T>(place: DocumentPlace, take: TakeDocument<T>, signal: AbortSignal | undefined): Promise<T> {
    const call = 'id' in place ? { ...callOf('document'), ownId: pathIdOf(place.id, 'document') } : callOf('document')
    const [path = '', query = ''] = 'path' in place ? place.path.split('?', 2) : []
    const asked = 'path' in place ? { path, query: new URLSearchParams(query) } : {}
    let taken: TakeResult<T> | null = null
    const parts: Parts = {
      ...asked,
      headers: { accept: '*/*' },
      take: async (answer) => {
        taken = await runTake(answer, take)
      },
    }
    const options: RequestOptions = { signal, priority: 'background', isProbe: true }
    await this.#withToken(call, options, (authorization) =>
      this.#channel.run(call, { ...parts, headers: { ...parts.headers, authorization } }, () => undefined, options),
    )
    // The cast is needed because the compiler doesn't see that `take` assigns the variable.
    const end = taken as TakeResult<T> | null
    if (end === null) throw misshapen(call, 'has no body')
    if ('error' in end) throw end.error
    return end.value
  }

  /** Sends a request. If the token is refused, renews the token once and repeats the same request (trap 39). */
  async read<T>(
    call: Call,
    { query = {}, bodyLimitBytes }: RequestParts,
    read: (call: Call, body: unknown, chars: number) => T,
    options: RequestOptions,
  ): Promise<T> {
    return await this.#withToken(call, options, (authorization) => {
      const parts = { query: Object.entries(query), headers: { authorization }, bodyLimitBytes }
      const take = (answer: HttpAnswer) => {
        const body = bodyOf(call, answer)
        const result = read(call, body, answer.body?.length ?? 0)
        this.#look(call.operation, body)
        return result
      }
      return this.#channel.run(call, parts, take, options)
    })
  }

  async #withToken<T>(call: Call, options: RequestOptions, send: (authorization: string) => Promise<T>): Promise<T> {
    const once = (token: string) => send(`Bearer ${token}`)
    const token = await this.#tokens.get(options.signal)
    try {
      return await once(token)
    } catch (error) {
      if (upstreamClass(error) !== 'auth') throw error
      // For `me`, renew even a token that was fetched a moment ago. If the service refuses `me` with the renewed token
      // too, the credentials are bad.
      this.#tokens.invalidate(token, call.operation === 'me')
      const renewed = await this.#tokens.get(options.signal)
      if (renewed === token) throw error
      return await once(renewed)
    }
  }
}

function callOf(operation: Operation, submissionId: string | null = null, withCursor = false): Call {
  return { operation, submissionId, withCursor }
}
