import type { Clock } from '../../base/clock.ts'
import { messageOf, PermanentError } from '../../base/errors.ts'
import type { HttpDestination, RequestTemplate } from '../../config/config.ts'
import type { RecordTaken } from '../../store/outbox/progress.ts'
import type { BuiltRequest, Outcome, PreviewedRequest, PushItem } from '../contract/delivery.ts'
import { type AttachedDocument, attachedDocument, type OpenDocument, type OpenedDocument } from '../contract/documents.ts'
import { type Delivered, type Failure, isSuccess, localFailure, refusal, repeatable } from '../contract/outcomes.ts'
import { buildRequest, shownRequest, viewOf } from './build-request.ts'
import { type DocumentMarks, documentView } from './document-body.ts'
import type { AnswerJudge } from './judge.ts'
import type { Answered, Requests } from './requests.ts'
import type { TemplateInput, Templates } from './templates.ts'

export interface DocumentPushOptions {
  readonly destination: HttpDestination
  readonly requests: Requests
  readonly templates: Templates
  readonly judge: AnswerJudge
  readonly marks: DocumentMarks
  readonly clock: Clock
  /** Missing if no documents are sent. */
  readonly openDocument?: OpenDocument | undefined
}

interface Opened {
  readonly document: OpenedDocument
  readonly view: TemplateInput
}

/** Maximum characters of the answer to `request` that are stored for `upload`. */
const ANSWER_LENGTH = 256 * 1024

/**
 * Sends changes with a document. Without the setting `upload`, the request `request` sends the document. With `upload`,
 * the first attempt sends `request` with the record, and the next attempt sends `upload` with the bytes. The answer to
 * `request` is stored in between, so a failed upload doesn't repeat `request`.
 */
export class DocumentPush {
  readonly #o: DocumentPushOptions

  constructor(options: DocumentPushOptions) {
    this.#o = options
  }

  /** @returns the change's document. Null if the change has none, or if the destination gets no documents. */
  attachedTo(item: PushItem): AttachedDocument | null {
    return this.#o.openDocument === undefined ? null : attachedDocument(item)
  }

  /** Sends the record, or the upload if the target already has the record. Never rejects. */
  async send(item: PushItem, attached: AttachedDocument, signal: AbortSignal): Promise<Outcome> {
    const { destination, requests, judge, clock } = this.#o
    const { request, upload } = destination
    const startedAt = clock.steady()
    const opened = await this.#open(item, attached)
    if ('failure' in opened) return opened.failure
    const { document, view } = opened
    const sending = { signal, startedAt, document }
    if (upload !== null && item.progress?.step === 'record_taken') return await this.#upload(upload, item.progress, opened, sending)
    const reply = await requests.ask('request', request, view, sending)
    if ('failure' in reply) return reply.failure
    const outcome = await judge.outcome(reply.answer, { item: view })
    return outcome.type === 'delivered' ? this.afterRecord(outcome, 'request', reply) : outcome
  }

  /**
   * @returns the outcome after the target accepted a document's record. With the setting `upload`, the outcome is
   * `record_taken`, and the upload comes next.
   */
  afterRecord(outcome: Delivered, answered: RecordTaken['answered'], { answer, origin }: Answered): Outcome {
    if (this.#o.destination.upload === null) return outcome
    const { status, remoteId, detail } = outcome
    const body = answer.body.slice(0, ANSWER_LENGTH)
    const isWhole = answer.cut === null && body.length === answer.body.length
    return { type: 'record_taken', status, remoteId, progress: { step: 'record_taken', answered, origin, body, isWhole, detail } }
  }

  /**
   * Builds the requests for a change without sending them.
   * @throws PermanentError if a template fails or the document can't be opened.
   */
  async preview(item: PushItem, attached: AttachedDocument): Promise<PreviewedRequest> {
    const { destination, templates } = this.#o
    const { request: template, upload } = destination
    const opened = await this.#open(item, attached)
    if ('failure' in opened) throw new PermanentError(opened.failure.error)
    const built = await buildRequest(templates, 'request', template, opened.view)
    const request = this.#shown(built, opened)
    if (upload === null) return request
    try {
      const second = await buildRequest(templates, 'upload', upload, opened.view)
      return { ...request, upload: this.#shown(second, opened, new URL(built.url).origin) }
    } catch (error) {
      if (!(error instanceof PermanentError)) throw error
      // The URL usually comes from the answer to `request`. A preview has no answer.
      return { ...request, upload: { method: upload.method, url: '(from the answer to the request)', headers: {}, body: null } }
    }
  }

  #shown(built: BuiltRequest, { document }: Opened, trusted?: string): BuiltRequest {
    return shownRequest(built, this.#o.destination.auth, { document, marks: this.#o.marks }, trusted)
  }

  async #open(item: PushItem, attached: AttachedDocument): Promise<Opened | { readonly failure: Failure }> {
    const { destination, openDocument, marks } = this.#o
    try {
      const document = (await openDocument?.(attached)) ?? null
      if (document === null) return { failure: localFailure(`the document ${attached.sha256} is no longer stored`, true) }
      const isNamed = destination.personalFields.includes('documents.name')
      return { document, view: viewOf(item, destination.settings, documentView(attached, document, marks, isNamed)) }
    } catch (error) {
      return { failure: localFailure(messageOf(error), false) }
    }
  }

  async #upload(
    template: RequestTemplate,
    { answered, origin: trusted, body: text, isWhole, detail }: RecordTaken,
    { view }: Opened,
    sending: Parameters<Requests['send']>[2],
  ): Promise<Outcome> {
    const { requests, templates, judge } = this.#o
    const body = { text, isWhole }
    let built: BuiltRequest
    try {
      const [url] = await templates.evaluate(['upload.url'], view, body)
      if (url === false) return { type: 'delivered', status: null, remoteId: null, detail }
      built = await buildRequest(templates, 'upload', template, view, body)
    } catch (error) {
      const answer = `the answer to \`${answered}\`${isWhole ? '' : `, which is longer than ${ANSWER_LENGTH} characters`}`
      const text = `the target has the record, but the \`upload\` request cannot be built from ${answer}: ${messageOf(error)}`
      return localFailure(text, error instanceof PermanentError)
    }
    const reply = await requests.send(built, template.format, { ...sending, trusted })
    if ('failure' in reply) return ofUpload(reply.failure)
    const { answer, origin } = reply
    if (isSuccess(answer.status)) return { type: 'delivered', status: answer.status, remoteId: null, detail }
    // A host that got no credentials can't reject them. For such a host, only the status counts.
    return ofUpload(origin === trusted ? await judge.failure(answer, { item: view }) : refusal(answer))
  }
}

/**
 * @returns the outcome of a failed upload. Repeating an upload is harmless, so an unknown outcome becomes a failure.
 */
function ofUpload(failure: Failure): Outcome {
  const certain = failure.type === 'unknown' ? repeatable(failure) : failure
  return { ...certain, error: `upload: ${certain.error}` }
}
