import type { Clock } from '../base/clock.ts'
import type { Priority } from '../base/limiter.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { DriftWatch } from '../model/interface-drift.ts'
import type { IdRead, OwnStateRead } from '../model/reads.ts'
import { anyJson, bodyOf, identityIn, misshapen, type ProbeAnswer, pageIn, viewIn } from './answer-bodies.ts'
import type { HttpAnswer } from './http/answer.ts'
import { Channel, type Pause, type RequestOptions } from './http/channel.ts'
import type { ProxySettings } from './http/dispatcher.ts'
import { type TakeDocument, type Taken, takenFrom } from './http/document.ts'
import { upstreamClass } from './http/errors.ts'
import { Http, type Parts, type Timeouts } from './http/http.ts'
import { type Call, type Operation, pathIdOf, submissionIdOf } from './http/operations.ts'
import { PageSizes } from './http/page-sizes.ts'
import { type Credential, TokenSource } from './token.ts'
import type { FeedPage, Identity } from './wire/answers.ts'

/**
 * The service as one account sees it. Each call is one request, plus one when the token had to be renewed, plus others with fewer items when
 * a page is too large. There are no retries here: the caller's schedule decides when to try again. `priority` is `live` when left out.
 * All throw UpstreamTransientError or UpstreamPermanentError (see their `class`), PermanentError for an id that is not a uuid, and the
 * reason of `signal` when it aborts.
 */
export interface UpstreamClient {
  /** The identity of the credentials. Also the probe of a suspended account: it exchanges the credentials again. */
  me(signal?: AbortSignal): Promise<Identity>
  /**
   * One page of the events feed: raw market events, as many as the service returns at once, fewer when they are large.
   * @param since the cursor, or null for the beginning.
   */
  events(submissionId: string, since: string | null, signal?: AbortSignal, priority?: Priority): Promise<FeedPage<unknown>>
  /** One page of the thread, raw messages. */
  thread(submissionId: string, since: string | null, signal?: AbortSignal, priority?: Priority): Promise<FeedPage<unknown>>
  /** The answer of a state read: a raw object; of `sessions` a list, too. */
  state(read: OwnStateRead, submissionId: string, signal?: AbortSignal, priority?: Priority): Promise<unknown>
  /**
   * A bind request, a policy or an insured, a raw object.
   * @param submissionId of a bind request, whose path has it; the others need none.
   */
  byId(read: IdRead, submissionId: string, id: string, signal?: AbortSignal, priority?: Priority): Promise<unknown>
  /**
   * Gets a document with background priority. Its outcome affects neither the circuit nor the rate, unless the service throttles.
   * @param place its id, or its path as the service gave it, relative to the base URL.
   * @param take what is done with its bytes as they arrive. Redirects are not followed.
   * @throws what `take` throws, too; PermanentError for a path that leads away from the base URL.
   */
  document<T>(place: DocumentPlace, take: TakeDocument<T>, signal?: AbortSignal): Promise<T>
  /**
   * Gets a path from the settings with background priority. Its outcome affects neither the circuit nor the rate, and a refused token is not
   * renewed.
   * @param path relative to the base URL, with a query or without.
   * @returns the body, JSON of any shape.
   */
  probe(path: string, signal?: AbortSignal): Promise<ProbeAnswer>
  /**
   * How long any request would fail unsent, in milliseconds: the circuit is open, the service asked for a pause, or a token exchange has just
   * failed. 0 when requests can be sent.
   */
  waitMs(): number
  /** The pause in force that the service asked for (trap 49); null when there is none, or one of a few seconds. */
  pause(): Pause | null
  /** Makes a pause that the service asked of another process. A longer one in force stays. */
  joinPause(pause: Pause): void
  /** Requests a second that are allowed now. */
  rate(): number
  /** How far the service's clock is ahead of ours, in milliseconds; null when no answer of the last hour had a date. */
  clockSkewMs(): number | null
  /** Divides the account's rate among `processes`, this one included. */
  shareAmong(processes: number): void
  /** Aborts requests in flight. */
  close(): Promise<void>
}

/** Where the service has a document. */
export type DocumentPlace = { readonly id: string } | { readonly path: string }

/** Who wants to know which credentials the service takes. */
export interface CredentialWatch {
  took(account: string, clientId: string): void
}

/** Who wants to know when the service asks an account for a pause. */
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
  /** Told of each answer that was read, as one that may have more than the specification names. Default: nobody. */
  readonly drift?: DriftWatch | undefined
  /** Told of each credential for which the service gave a token. Default: nobody. */
  readonly credentialUses?: CredentialWatch | undefined
  /** Told of each pause longer than a few seconds that the service asks for. Default: nobody. */
  readonly pauses?: PauseWatch | undefined
  readonly timeouts?: Partial<Timeouts>
  readonly bodyLimitBytes?: number
}

const TIMEOUTS: Timeouts = { connectMs: 5_000, headersMs: 10_000, overallMs: 20_000 }
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** Parsing a body blocks the event loop, and nobody waits for a probe. */
const PROBE_LIMIT_BYTES = 8 * 1024 * 1024
const SUSPEND_MS = 15 * 60_000

/** @returns the client of one account. It connects with the first request. */
export function createUpstreamClient(options: UpstreamOptions): UpstreamClient {
  const { account, baseUrl, proxy, clock, observer, log } = options
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  const http = new Http({ baseUrl, proxy, timeouts, bodyLimitBytes: options.bodyLimitBytes ?? BODY_LIMIT_BYTES })
  const channel = new Channel(account, http, options.requestsPerSecond, clock, observer, (pause) => options.pauses?.began(account, pause))
  const { credentials, scope } = options
  const onToken = (clientId: string) => options.credentialUses?.took(account, clientId)
  const tokens = new TokenSource(channel, { account, credentials, scope, suspendMs: SUSPEND_MS, onToken }, { clock, observer, log })
  const look = (operation: Operation, body: unknown) => options.drift?.look(account, operation, body)
  const reader = new Reader(channel, tokens, look)
  channel.probeFirst(() => reader.read(callOf('me'), {}, identityIn, {}))
  return {
    async me(signal) {
      tokens.resume()
      return await reader.read(callOf('me'), {}, identityIn, { signal })
    },
    async events(submissionId, since, signal, priority) {
      return await reader.page('events', submissionId, since, { signal, priority })
    },
    async thread(submissionId, since, signal, priority) {
      return await reader.page('thread', submissionId, since, { signal, priority })
    },
    async state(read, submissionId, signal, priority) {
      return await reader.read(callOf(read, submissionIdOf(submissionId)), {}, viewIn, { signal, priority })
    },
    async byId(read, submissionId, id, signal, priority) {
      const of = read === 'bind_request' ? submissionIdOf(submissionId) : null
      return await reader.read({ ...callOf(read, of), ownId: pathIdOf(id, read) }, {}, viewIn, { signal, priority })
    },
    async probe(path, signal) {
      return await reader.probe(path, signal)
    },
    async document(place, take, signal) {
      return await reader.document(place, take, signal)
    },
    waitMs() {
      return Math.max(channel.waitMs(), tokens.waitMs())
    },
    pause() {
      return channel.pause
    },
    joinPause(pause) {
      channel.join(pause)
    },
    rate() {
      return channel.limiter.rate
    },
    clockSkewMs() {
      return channel.clockSkewMs
    },
    shareAmong(processes) {
      channel.limiter.shareAmong(processes)
    },
    async close() {
      await channel.close()
    },
  }
}

interface RequestParts {
  readonly query?: Readonly<Record<string, string>>
  /** Default: the client's limit. */
  readonly bodyLimitBytes?: number | undefined
}

/** Sends requests with a token, and renews it when it is refused. */
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
      // Without a cursor there is no `since`: any placeholder would be an invalid cursor (trap 4).
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
    let taken: Taken<T> | null = null
    const parts: Parts = {
      ...asked,
      headers: { accept: '*/*' },
      take: async (answer) => {
        taken = await takenFrom(answer, take)
      },
    }
    const options: RequestOptions = { signal, priority: 'background', isProbe: true }
    await this.#withToken(call, options, (authorization) =>
      this.#channel.run(call, { ...parts, headers: { ...parts.headers, authorization } }, () => undefined, options),
    )
    // The compiler does not see that `take` ran.
    const end = taken as Taken<T> | null
    if (end === null) throw misshapen(call, 'has no body')
    if ('error' in end) throw end.error
    return end.value
  }

  /** Renews a refused token once and sends the same request again, with the same cursor (trap 39). */
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
      // For `me`, even a new token is renewed: its refusal decides whether the credentials are good.
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
