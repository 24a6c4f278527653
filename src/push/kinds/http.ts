import type { Clock } from '../../base/clock.ts'
import { messageOf, PermanentError } from '../../base/errors.ts'
import type { HttpDestination, RequestTemplate } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import type {
  Batching,
  BuiltRequest,
  DeliveryKind,
  KindContext,
  Outcome,
  Presence,
  PreviewedRequest,
  ProbeResult,
  PushItem,
} from '../contract/delivery.ts'
import { type AttachedDocument, attachedDocument, type OpenDocument, type OpenedDocument } from '../contract/documents.ts'
import { type Answer, type Failure, isSuccess, localFailure, ofWholeBatch, refusal, taken, unanswered } from '../contract/outcomes.ts'
import { remoteIdOf } from '../contract/remote-id.ts'
import { bodyOf, failedLookup, seen, unreadable, withoutToken } from '../http/answered.ts'
import type { Auth } from '../http/auth.ts'
import { buildRequest } from '../http/build-request.ts'
import { createAuth } from '../http/create-auth.ts'
import { type DocumentMarks, documentView, newMarks, type StreamedBody, withDocument } from '../http/document-body.ts'
import { allExpressions, type RequestName } from '../http/expressions.ts'
import { AnswerJudge } from '../http/judge.ts'
import { explainProbe } from '../http/probe.ts'
import { shownRequest } from '../http/shown-request.ts'
import type { TemplateInput } from '../http/templates.ts'
import { Templates } from '../http/templates.ts'
import { batchView, viewOf } from '../http/view.ts'
import { LEAST_SHARE, type OutgoingRequest, openTransport, type Transport } from '../transport/transport.ts'

/** Result of a request: an answer to judge and who gave it, or an outcome without one. */
type Reply = { readonly answer: Answer; readonly origin: string } | { readonly failure: Failure }

type Lookup = NonNullable<HttpDestination['lookup'] | HttpDestination['check']>
type Unclear = ReturnType<typeof failedLookup>

/** What was found of a message at the target. */
type Look =
  | { readonly type: 'there'; readonly answer: Answer; readonly found: Json; readonly isSame: boolean }
  | { readonly type: 'absent' }
  | { readonly type: 'unclear'; readonly outcome: Unclear }

/** What a request is made of. */
interface Asked {
  readonly view: TemplateInput
  readonly signal: AbortSignal
  /** When the attempt began, by the steady clock; left out: now. */
  readonly startedAt?: number
  /** The document that may go along. */
  readonly document?: OpenedDocument | null
  /** The answer that expressions see as `body`. */
  readonly about?: Answer
  /** The only origin that gets the credentials; left out: any that may be connected to. */
  readonly trusted?: string
}

/** Longest body that is read of an answer, and of all answers in flight together. */
const ANSWER_BYTES = 4 * 1024 * 1024
const ALL_ANSWERS_BYTES = 16 * 1024 * 1024

/** Longest time for the expressions of a request, and what each change of a batch adds. */
const [TEMPLATES_MS, TEMPLATES_MS_PER_ITEM] = [1_000, 10]

/** Delivers each change, or several together, by one templated request, to REST and SOAP systems alike. */
export function createHttp(destination: HttpDestination, context: KindContext): DeliveryKind {
  const bodyLimitBytes = Math.min(ANSWER_BYTES, Math.floor(ALL_ANSWERS_BYTES / destination.concurrency))
  const transport = openTransport(destination, context.proxy, { clock: context.clock, bodyLimitBytes })
  return new HttpKind(destination, transport, context)
}

class HttpKind implements DeliveryKind {
  readonly batch: Batching
  readonly lookUp: DeliveryKind['lookUp']
  readonly verify: DeliveryKind['verify']
  readonly #destination: HttpDestination
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #auth: Auth
  readonly #templates: Templates
  readonly #judge: AnswerJudge
  readonly #marks: DocumentMarks = newMarks()
  readonly #openDocument: OpenDocument | null

  constructor(destination: HttpDestination, transport: Transport, { clock, openDocument, db }: Omit<KindContext, 'log' | 'proxy'>) {
    this.batch = destination.batch === null ? { type: 'one' } : this.#batching(destination.batch)
    this.#destination = destination
    this.#transport = transport
    this.#clock = clock
    this.#openDocument = destination.documents ? (openDocument ?? null) : null
    const { max } = destination.batch ?? { max: 0 }
    this.#templates = new Templates(allExpressions(destination), TEMPLATES_MS + TEMPLATES_MS_PER_ITEM * max)
    this.#auth = createAuth(destination, { transport, clock, templates: this.#templates, db })
    this.#judge = new AnswerJudge(destination, this.#templates)
    const canVerify = destination.lookup !== null || destination.check !== null
    this.verify = canVerify ? (item, signal) => this.#verify(item, signal) : undefined
    this.lookUp = destination.lookup === null ? undefined : (item, signal) => this.#lookUp(item, signal)
  }

  async send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    if (this.#destination.batch !== null) return await this.#sendTogether(items, signal)
    const outcomes: Outcome[] = []
    for (const item of items) outcomes.push(await this.#sendOne(item, signal))
    return outcomes
  }

  async preview(item: PushItem): Promise<PreviewedRequest> {
    const { batch, settings, upload } = this.#destination
    const attached = this.#openDocument === null ? null : attachedDocument(item)
    if (attached === null) {
      const view = batch === null ? viewOf(item, settings, null) : batchView([item], settings)
      const [name, template] = this.#requestFor(item)
      return this.#shown(await buildRequest(this.#templates, name, template, view), null)
    }
    const found = await this.#document(attached)
    if ('failure' in found) throw new PermanentError(found.failure.error)
    const { document } = found
    const view = viewOf(item, settings, this.#documentView(attached, document))
    const built = await buildRequest(this.#templates, 'request', this.#destination.request, view)
    const request = this.#shown(built, document)
    if (upload === null) return request
    try {
      const second = await buildRequest(this.#templates, 'upload', upload, view)
      return { ...request, upload: this.#shown(second, document, new URL(built.url).origin) }
    } catch (error) {
      if (!(error instanceof PermanentError)) throw error
      // Its address usually comes from the answer, which nobody has yet.
      return { ...request, upload: { method: upload.method, url: '(from the answer to the request)', headers: {}, body: null } }
    }
  }

  #shown(built: BuiltRequest, document: OpenedDocument | null, trusted?: string): BuiltRequest {
    return shownRequest(built, this.#destination.auth, document === null ? null : { document, marks: this.#marks }, trusted)
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const { probe, settings, timeoutMs } = this.#destination
    if (probe !== null) return explainProbe(await this.#ask('probe', probe, { view: { settings }, signal }), this.#destination)
    const got = await this.#auth.headers(timeoutMs, signal)
    if ('failure' in got) return explainProbe(got, this.#destination)
    return { ok: null, text: 'it has no probe request, so nothing harmless can be tried; give it one (probe)' }
  }

  async close(): Promise<void> {
    this.#templates.close()
    await this.#transport.close()
  }

  #batching({ max, by }: NonNullable<HttpDestination['batch']>): Batching {
    const groupOf = (item: PushItem) => {
      const [name] = this.#requestFor(item)
      return [name, by === null ? '' : item.entity, by === 'operation' ? item.operation : ''].join(' ')
    }
    return { type: 'many', maxItems: max, gatherMs: 0, groupOf }
  }

  /** Sends items of one group in one request. */
  async #sendTogether(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const [first] = items
    if (first === undefined) return []
    const view = batchView(items, this.#destination.settings)
    const reply = await this.#ask(...this.#requestFor(first), { view, signal })
    if ('failure' in reply) return ofWholeBatch(reply.failure, items.length)
    return await this.#judge.outcomes(reply.answer, view, items.length)
  }

  async #sendOne(item: PushItem, signal: AbortSignal): Promise<Outcome> {
    const startedAt = this.#clock.steady()
    const { request, upload, settings } = this.#destination
    const attached = this.#openDocument === null ? null : attachedDocument(item)
    if (attached === null) {
      const view = viewOf(item, settings, null)
      const [name, template] = this.#requestFor(item)
      const reply = await this.#ask(name, template, { view, signal, startedAt })
      return 'failure' in reply ? reply.failure : await this.#judge.outcome(reply.answer, { item: view })
    }
    const found = await this.#document(attached)
    if ('failure' in found) return found.failure
    const { document } = found
    const view = viewOf(item, settings, this.#documentView(attached, document))
    const reply = await this.#ask('request', request, { view, signal, startedAt, document })
    if ('failure' in reply) return reply.failure
    const outcome = await this.#judge.outcome(reply.answer, { item: view })
    if (outcome.type !== 'delivered' || upload === null) return outcome
    const { answer: about, origin: trusted } = reply
    const uploaded = await this.#ask('upload', upload, { view, signal, startedAt, document, about, trusted })
    if ('failure' in uploaded) return uploaded.failure
    if (isSuccess(uploaded.answer.status)) return outcome
    // A refusal of a host that got no credentials says nothing about them.
    const failure = uploaded.origin === trusted ? await this.#judge.failure(uploaded.answer, { item: view }) : refusal(uploaded.answer)
    return 'error' in failure ? { ...failure, error: `upload: ${failure.error}` } : failure
  }

  #requestFor({ remoteId }: PushItem): readonly ['update' | 'request', RequestTemplate] {
    const { request, update } = this.#destination
    return remoteId !== null && update !== null ? ['update', update] : ['request', request]
  }

  #documentView(attached: AttachedDocument, document: OpenedDocument): Json {
    return documentView(attached, document, this.#marks, this.#destination.personalFields.includes('documents.name'))
  }

  async #document(attached: AttachedDocument): Promise<{ readonly document: OpenedDocument } | { readonly failure: Failure }> {
    try {
      const document = (await this.#openDocument?.(attached)) ?? null
      return document === null ? { failure: localFailure(`the document ${attached.sha256} is not kept any more`, true) } : { document }
    } catch (error) {
      return { failure: localFailure(messageOf(error), false) }
    }
  }

  async #lookUp(item: PushItem, signal: AbortSignal): Promise<Outcome | null> {
    const { lookup } = this.#destination
    if (lookup === null) return null
    const look = await this.#look('lookup', lookup, item, signal)
    if (look.type !== 'there') return look.type === 'absent' ? null : look.outcome
    return taken(look.answer.status, remoteIdOf(look.found), 'the target has it: it was found by its id')
  }

  /** By `check` where the record's id at the target is known, else by `lookup`, which finds a record of its own by our id alone. */
  async #verify(item: PushItem, signal: AbortSignal): Promise<Presence> {
    const { check, lookup } = this.#destination
    const byId = check !== null && item.remoteId !== null
    if (!byId && lookup === null)
      return {
        type: 'cannot_tell',
        outcome: localFailure('the id of its record at the target is not known, and there is no lookup', false),
      }
    const ofItsOwn = item.operation === 'insert' ? { ...item, remoteId: null } : item
    const look = byId ? await this.#look('check', check, item, signal) : await this.#look('lookup', lookup as Lookup, ofItsOwn, signal)
    if (look.type === 'there') return { type: look.isSame ? 'has' : 'differs' }
    return look.type === 'absent' ? { type: 'lacks' } : { type: 'cannot_tell', outcome: look.outcome }
  }

  /** Asks for one message. An answer that is incomplete, or that its expressions cannot read, tells nothing. */
  async #look(name: 'lookup' | 'check', template: Lookup, item: PushItem, signal: AbortSignal): Promise<Look> {
    const unclear = (outcome: Unclear): Look => ({ type: 'unclear', outcome })
    const { settings } = this.#destination
    const view = viewOf(item, settings, null)
    // The verdicts of a batch know its settings under this name.
    const about = { item: view, settings }
    const reply = await this.#ask(name, template, { view, signal })
    if ('failure' in reply) return unclear(failedLookup(reply.failure))
    const { answer } = reply
    if (!isSuccess(answer.status) && ![404, 410].includes(answer.status))
      return unclear(failedLookup(await this.#judge.failure(answer, about)))
    // The rest could say that the message is there.
    if (answer.cut?.isTooLong) return unclear(failedLookup(unreadable(`its answer ${answer.cut.text}; narrow the ${name}`)))
    if (answer.cut !== null) return unclear(failedLookup({ type: 'unknown', error: `its answer ${answer.cut.text}` }))
    try {
      const [found = null] = await this.#templates.evaluate([`${name}.found`], seen(answer, about), bodyOf(answer))
      if (found === null || found === false || found === '') return { type: 'absent' }
      // Otherwise a count of 0 or an empty list would count as found, and the change would be lost.
      if (found === 0 || (typeof found === 'object' && Object.keys(found).length === 0))
        throw new PermanentError(`${name}.found yields neither an id nor nothing`)
      if (!('same' in template) || template.same === null) return { type: 'there', answer, found, isSame: true }
      const [same] = await this.#templates.evaluate([`${name}.same`], seen(answer, about), bodyOf(answer))
      return { type: 'there', answer, found, isSame: same !== false }
    } catch (error) {
      return unclear(failedLookup(unreadable(messageOf(error))))
    }
  }

  /** Builds and sends a request, and once more with a new token when the first was refused. Never rejects. */
  async #ask(name: RequestName, template: RequestTemplate, asked: Asked): Promise<Reply> {
    let built: BuiltRequest
    try {
      built = await buildRequest(this.#templates, name, template, asked.view, asked.about)
    } catch (error) {
      return { failure: localFailure(messageOf(error), error instanceof PermanentError) }
    }
    const { signal, startedAt = this.#clock.steady(), trusted, document = null } = asked
    const streamed = document === null || built.body === null ? null : withDocument(built.body, document, this.#marks)
    if (streamed !== null && template.format === 'form') return { failure: localFailure('a form holds no document: use multipart', true) }
    const { origin } = new URL(built.url)
    const leftMs = (): number => Math.max(1, Math.ceil(this.#destination.timeoutMs - (this.#clock.steady() - startedAt)))
    for (let renewed = false; ; renewed = true) {
      const auth = trusted === undefined || trusted === origin ? await this.#auth.headers(leftMs(), signal) : { headers: {} }
      if ('failure' in auth) return auth
      // The token is there for the next try.
      if (name !== 'upload' && leftMs() < this.#destination.timeoutMs * LEAST_SHARE)
        return { failure: localFailure('what came first, such as getting a token, left too little of `timeout`', false) }
      const result = await this.#transport.send({ ...outgoing(built, streamed, auth.headers), timeoutMs: leftMs() }, signal)
      if (result.type !== 'answer') return { failure: unanswered(result) }
      // A 401 comes before anything is done, so repeating the request does no harm.
      if (result.status === 401 && !renewed && this.#auth.renew(auth.headers)) continue
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
