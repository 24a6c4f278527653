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
  /** With the version segment; nothing but the specification's paths is appended. */
  readonly baseUrl: string
  readonly auth: Auth
  /** The portal user to whom writes are attributed, unless a call says another. A machine credential needs one. */
  readonly producerEmail?: string
  readonly fetch?: Fetch
  readonly clock?: ClientClock
  /** For an answer to begin; milliseconds. Default: 20,000. */
  readonly timeoutMs?: number
  readonly retry?: Partial<Retry>
}

/** An answer whose fields the specification does not show. */
export type Unshown = Record<string, unknown>

/** The whole service. Every call throws a ServiceError, Unreachable, UnexpectedAnswer or LoginNeeded, and RangeError for an id that is no uuid. */
export interface Client {
  me(): Promise<Identity>
  /** Where the grants are, and which are supported; needs no token. */
  oauthMetadata(): Promise<Metadata>
  readonly submissions: Submissions
  readonly documents: { pdf(documentId: string): Promise<Download> }
  /** @param path a `download_path`. */
  download(path: string): Promise<Download>
  /** A search that is capped at 50, not a list (trap 56). */
  forms(q?: string): Promise<Form[]>
  /** Both count against a daily limit, so they are never repeated (trap 55). */
  readonly appetite: {
    read(query: { readonly q: string; readonly state?: string; readonly lob?: string }): Promise<Appetite>
    search(body: AppetiteSearch): Promise<unknown>
  }
  readonly marketAccess: { setProgramLine(body: ProgramLine): Promise<unknown> }
  readonly bind: Binding
  readonly policies: { get(id: string): Promise<Unshown> }
  readonly insureds: { get(id: string): Promise<Unshown> }
  /**
   * What the specification names without showing it. A GET is repeated, anything else is sent once. The object that a POST, PUT or PATCH
   * sends gets the client's `producer_email`, unless it has one.
   */
  request(
    method: string,
    path: string,
    given?: { readonly query?: Readonly<Record<string, string | number | undefined>>; readonly body?: unknown },
  ): Promise<unknown>
}

const TIMEOUT_MS = 20_000
const anything = z.unknown()

const isWrite = (method: string) => ['POST', 'PUT', 'PATCH'].includes(method.toUpperCase())

/** @returns a client of one brokerage. It connects with the first call. @throws RangeError for a base URL that is none. */
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
    request: (method, path, { query, body } = {}) => {
      const retry = method === 'GET' ? 'idempotent' : 'at-most-once'
      const json = isWrite(method) ? attributed(body, producerEmail) : body
      return channel.ask({ method, path, query, json, retry }, anything)
    },
  }
}
