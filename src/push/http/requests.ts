import type { Clock } from '../../base/clock.ts'
import { messageOf, PermanentError } from '../../base/errors.ts'
import type { HttpDestination, RequestTemplate } from '../../config/config.ts'
import type { BuiltRequest } from '../contract/delivery.ts'
import type { OpenedDocument } from '../contract/documents.ts'
import { type Answer, type Failure, localFailure, unanswered } from '../contract/outcomes.ts'
import { LEAST_SHARE, type OutgoingRequest, type Transport } from '../transport/transport.ts'
import { withoutToken } from './answered.ts'
import { buildRequest } from './build-request.ts'
import { type DocumentMarks, type StreamedBody, withDocument } from './document-body.ts'
import type { RequestName } from './expressions.ts'
import type { TemplateInput, Templates } from './templates.ts'
import type { Auth } from './token-keeper.ts'

export interface Answered {
  readonly answer: Answer
  readonly origin: string
}

export type Reply = Answered | { readonly failure: Failure }

interface Sending {
  readonly signal: AbortSignal
  /** Start of the attempt, by the steady clock. Default: now. */
  readonly startedAt?: number
  readonly document?: OpenedDocument | null
  /** The only origin that gets credentials. If missing, every allowed origin gets credentials. */
  readonly trusted?: string
}

export interface RequestsOptions {
  readonly destination: Pick<HttpDestination, 'timeoutMs'>
  readonly transport: Transport
  readonly clock: Clock
  readonly auth: Auth
  readonly templates: Templates
  readonly marks: DocumentMarks
}

export class Requests {
  readonly #o: RequestsOptions

  constructor(options: RequestsOptions) {
    this.#o = options
  }

  /**
   * Builds and sends a request. Never rejects.
   * @param view the `$` of the expressions.
   */
  async ask(name: RequestName, template: RequestTemplate, view: TemplateInput, sending: Sending): Promise<Reply> {
    try {
      return await this.send(await buildRequest(this.#o.templates, name, template, view), template.format, sending)
    } catch (error) {
      return { failure: localFailure(messageOf(error), error instanceof PermanentError) }
    }
  }

  /** Sends a request. After a 401, repeats the request once, if the destination can get a new token. Never rejects. */
  async send(built: BuiltRequest, format: RequestTemplate['format'], sending: Sending): Promise<Reply> {
    const { destination, transport, clock, auth: credentials, marks } = this.#o
    const { signal, startedAt = clock.steady(), trusted, document = null } = sending
    const streamed = document === null || built.body === null ? null : withDocument(built.body, document, marks)
    if (streamed !== null && format === 'form') return { failure: localFailure('a form cannot contain a document; use multipart', true) }
    const { origin } = new URL(built.url)
    const leftMs = (): number => Math.max(1, Math.ceil(destination.timeoutMs - (clock.steady() - startedAt)))
    for (let renewed = false; ; renewed = true) {
      const auth = trusted === undefined || trusted === origin ? await credentials.headers(leftMs(), signal) : { headers: {} }
      if ('failure' in auth) return auth
      // If earlier steps, such as getting a token, took too long, the request isn't sent. The next attempt can use the
      // token.
      if (leftMs() < destination.timeoutMs * LEAST_SHARE)
        return { failure: localFailure('earlier steps, such as getting a token, left too little time of `timeout`', false) }
      const result = await transport.send({ ...outgoing(built, streamed, auth.headers), timeoutMs: leftMs() }, signal)
      if (result.type !== 'answer') return { failure: unanswered(result) }
      // After a 401, the target did nothing, so repeating the request is harmless.
      if (result.status === 401 && !renewed && credentials.renew(auth.headers)) continue
      return { answer: withoutToken(result, auth.headers), origin }
    }
  }
}

function outgoing(
  { method, url, headers, body }: BuiltRequest,
  streamed: StreamedBody | null,
  auth: Readonly<Record<string, string>>,
): Omit<OutgoingRequest, 'timeoutMs'> {
  if (streamed === null) return { method, url, headers: { ...headers, ...auth }, body }
  return { method, url, headers: { ...headers, 'content-length': String(streamed.bytes), ...auth }, body: streamed.open() }
}
