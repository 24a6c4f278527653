import { z } from 'zod'
import { systemClock } from '../base/clock.ts'
import type { Auth } from './auth/auth.ts'
import { metadata } from './auth/token-endpoint.ts'
import { type Binding, bindCalls } from './calls/binding.ts'
import { type Download, download, pdf } from './calls/documents.ts'
import { type Submissions, submissionCalls } from './calls/submissions.ts'
import { attributed, bodyOf } from './calls/writing.ts'
import { type Call, Channel } from './http/channel.ts'
import { checkBaseUrl, pathOf } from './http/paths.ts'
import { RETRY, type Retry } from './http/retry.ts'
import type { ClientClock, Fetch } from './http/wire.ts'
import {
  type Appetite,
  type AppetiteSearch,
  appetiteSchema,
  appetiteSearchSchema,
  insuredSchema,
  type ProgramLine,
  policySchema,
  programLineSchema,
} from './schemas/appetite.ts'
import { type Form, formsSchema } from './schemas/documents.ts'
import { anyRecords } from './schemas/fields.ts'
import { type Identity, identitySchema } from './schemas/identity.ts'
import type { Metadata } from './schemas/oauth.ts'

export interface ClientOptions {
  /** Base URL with its version segment, such as `https://api.example/api/v1`. */
  readonly baseUrl: string
  readonly auth: Auth
  /**
   * E-mail address of the portal user to whom writes are attributed by default. A machine credential needs an address
   * for every write, here or in the call.
   */
  readonly producerEmail?: string
  readonly fetch?: Fetch
  readonly clock?: ClientClock
  /** Time limit in ms for the start of an answer, and again for its body, except for downloads. Default: 20,000. */
  readonly timeoutMs?: number
  readonly retry?: Partial<Retry>
}

type Unshown = Record<string, unknown>

/**
 * Calls throw ServiceError, Unreachable, UnexpectedAnswer, or LoginNeeded. They throw RangeError for an id that isn't a
 * uuid and for a body that the specification doesn't allow.
 */
export interface Client {
  me(): Promise<Identity>
  /** Metadata of the authorization server. Requires no token. */
  oauthMetadata(): Promise<Metadata>
  readonly submissions: Submissions
  readonly documents: { pdf(documentId: string): Promise<Download> }
  /**
   * Downloads a document.
   * @param path value of a field `download_path`.
   */
  download(path: string): Promise<Download>
  /** Searches forms. The service returns at most 50 (trap 56). */
  forms(q?: string): Promise<Form[]>
  /**
   * Both calls count against one daily limit (trap 55). They are retried only if the service
   * surely didn't process them.
   */
  readonly appetite: {
    read(query: { readonly q: string; readonly state?: string; readonly lob?: string }): Promise<Appetite>
    search(body: AppetiteSearch): Promise<unknown>
  }
  readonly marketAccess: { setProgramLine(body: ProgramLine): Promise<unknown> }
  readonly bind: Binding
  readonly policies: { get(id: string): Promise<Unshown> }
  readonly insureds: { get(id: string): Promise<Unshown> }
  /**
   * Calls an operation that the specification names but doesn't describe. A GET is retried after temporary failures.
   * Other methods are retried only if the service surely didn't process the request. If a POST, PUT, or PATCH body has
   * no `producer_email`, the client's value is added.
   */
  request(
    method: string,
    path: string,
    given?: { readonly query?: Readonly<Record<string, string | number | undefined>>; readonly body?: unknown },
  ): Promise<unknown>
}

const TIMEOUT_MS = 20_000
const anything = z.unknown()

const isWrite = (method: string) => ['POST', 'PUT', 'PATCH'].includes(method)

/**
 * Creates a client for one brokerage.
 * @throws RangeError if the base URL is invalid.
 */
export function createClient({ baseUrl, auth, producerEmail, retry, ...options }: ClientOptions): Client {
  const { fetch: given = fetch, clock = systemClock, timeoutMs = TIMEOUT_MS } = options
  checkBaseUrl(baseUrl)
  const channel = new Channel({ baseUrl, fetch: given, clock, timeoutMs }, auth, { ...RETRY, ...retry })
  const get = (path: string, query?: Call['query']) => ({ method: 'GET', path, query, retry: 'idempotent' }) as const
  return {
    me: () => channel.ask(get('/broker/me'), identitySchema),
    oauthMetadata: () => metadata(channel.wire),
    submissions: submissionCalls(channel, producerEmail),
    documents: { pdf: (documentId) => pdf(channel, documentId) },
    download: (path) => download(channel, path),
    forms: (q) => channel.ask(get('/broker/forms', { q }), formsSchema),
    appetite: {
      read: (query) => channel.ask({ ...get('/broker/appetite', { ...query }), retry: 'at-most-once' }, appetiteSchema),
      search: (body) =>
        channel.ask(
          { method: 'POST', path: '/broker/appetite/search', json: bodyOf(appetiteSearchSchema, body, undefined), retry: 'at-most-once' },
          anyRecords,
        ),
    },
    marketAccess: {
      setProgramLine: (body) => {
        const call = {
          method: 'PUT',
          path: '/broker/market-access/program-line',
          json: bodyOf(programLineSchema, body, producerEmail),
          retry: 'at-most-once',
        } as const
        return channel.ask(call, anyRecords)
      },
    },
    bind: bindCalls(channel, producerEmail),
    policies: { get: (id) => channel.ask(get(pathOf`/broker/policies/${id}`), policySchema) },
    insureds: { get: (id) => channel.ask(get(pathOf`/broker/insureds/${id}`), insuredSchema) },
    request: (verb, path, { query, body } = {}) => {
      const method = verb.toUpperCase()
      const retry = method === 'GET' ? 'idempotent' : 'at-most-once'
      const json = isWrite(method) ? attributed(body, producerEmail) : body
      return channel.ask({ method, path, query, json, retry }, anything)
    },
  }
}
