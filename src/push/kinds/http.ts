import { messageOf, PermanentError } from '../../base/errors.ts'
import type { HttpDestination, RequestTemplate } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import type {
  Batching,
  DeliveryKind,
  KindContext,
  Outcome,
  Presence,
  PreviewedRequest,
  ProbeResult,
  PushItem,
} from '../contract/delivery.ts'
import { type Answer, answered, type Failure, isSuccess, localFailure, ofWholeBatch, remoteIdOf, taken } from '../contract/outcomes.ts'
import { bodyOf, failedLookup, seen, unreadable } from '../http/answered.ts'
import { batchView, buildRequest, shownRequest, viewOf } from '../http/build-request.ts'
import { createAuth } from '../http/create-auth.ts'
import { newMarks } from '../http/document-body.ts'
import { DocumentPush } from '../http/document-push.ts'
import { allExpressions } from '../http/expressions.ts'
import { AnswerJudge } from '../http/judge.ts'
import { type Answered, Requests } from '../http/requests.ts'
import { Templates } from '../http/templates.ts'
import type { Auth } from '../http/token-keeper.ts'
import { openTransport, type Transport } from '../transport/transport.ts'

type Lookup = NonNullable<HttpDestination['lookup'] | HttpDestination['check']>
type Unclear = ReturnType<typeof failedLookup>

/** Result of looking for a message at the target. */
type Look =
  | (Answered & { readonly type: 'there'; readonly found: Json; readonly isSame: boolean })
  | { readonly type: 'absent' }
  | { readonly type: 'unclear'; readonly outcome: Unclear }

/** Maximum bytes that are read from one answer, and from all answers that arrive at the same time. */
const ANSWER_BYTES = 4 * 1024 * 1024
const ALL_ANSWERS_BYTES = 16 * 1024 * 1024

/** Time limit for evaluating a request's expressions, and extra time for each change of a batch. Both in ms. */
const [TEMPLATES_MS, TEMPLATES_MS_PER_ITEM] = [1_000, 10]

/**
 * Makes a kind that sends changes to REST and SOAP systems, in requests made from templates. A request has one change.
 * If `batch` is set, a request has several changes.
 */
export function createHttp(destination: HttpDestination, context: KindContext): DeliveryKind {
  const bodyLimitBytes = Math.min(ANSWER_BYTES, Math.floor(ALL_ANSWERS_BYTES / destination.concurrency))
  const transport = openTransport(destination, context.proxy, { clock: context.clock, bodyLimitBytes })
  return new HttpKind(destination, transport, context)
}

class HttpKind implements DeliveryKind {
  readonly batch: Batching
  readonly lookUp: DeliveryKind['lookUp']
  readonly lookupAfterMs: number | undefined
  readonly verify: DeliveryKind['verify']
  readonly #destination: HttpDestination
  readonly #transport: Transport
  readonly #auth: Auth
  readonly #templates: Templates
  readonly #judge: AnswerJudge
  readonly #requests: Requests
  readonly #documents: DocumentPush

  constructor(destination: HttpDestination, transport: Transport, { clock, openDocument, db }: Omit<KindContext, 'log' | 'proxy'>) {
    this.batch = destination.batch === null ? { type: 'one' } : this.#batching(destination.batch)
    this.#destination = destination
    this.#transport = transport
    const { max } = destination.batch ?? { max: 0 }
    const templates = new Templates(allExpressions(destination), TEMPLATES_MS + TEMPLATES_MS_PER_ITEM * max)
    const judge = new AnswerJudge(destination, templates)
    const parts = { destination, templates, clock, marks: newMarks() }
    this.#templates = templates
    this.#judge = judge
    this.#auth = createAuth(destination, { transport, clock, templates, db })
    this.#requests = new Requests({ ...parts, transport, auth: this.#auth })
    this.#documents = new DocumentPush({
      ...parts,
      requests: this.#requests,
      judge,
      openDocument: destination.documents ? openDocument : undefined,
    })
    const canVerify = destination.lookup !== null || destination.check !== null
    this.verify = canVerify ? (item, signal) => this.#verify(item, signal) : undefined
    this.lookupAfterMs = destination.lookupAfterMs ?? undefined
    this.lookUp = destination.lookup === null ? undefined : (item, signal) => this.#lookUp(item, signal)
  }

  async send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    if (this.#destination.batch !== null) return await this.#sendTogether(items, signal)
    const outcomes: Outcome[] = []
    for (const item of items) outcomes.push(await this.#sendOne(item, signal))
    return outcomes
  }

  async preview(item: PushItem): Promise<PreviewedRequest> {
    const { auth, batch, settings } = this.#destination
    const attached = this.#documents.attachedTo(item)
    if (attached !== null) return await this.#documents.preview(item, attached)
    const view = batch === null ? viewOf(item, settings, null) : batchView([item], settings)
    const [name, template] = this.#requestFor(item)
    return shownRequest(await buildRequest(this.#templates, name, template, view), auth, null)
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const { probe, settings, timeoutMs } = this.#destination
    if (probe !== null) return explainProbe(await this.#requests.ask('probe', probe, { settings }, { signal }), this.#destination)
    const got = await this.#auth.headers(timeoutMs, signal)
    if ('failure' in got) return explainProbe(got, this.#destination)
    return { ok: null, text: 'no harmless request is configured; set probe' }
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

  async #sendTogether(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const [first] = items
    if (first === undefined) return []
    const view = batchView(items, this.#destination.settings)
    const reply = await this.#requests.ask(...this.#requestFor(first), view, { signal })
    if ('failure' in reply) return ofWholeBatch(reply.failure, items.length)
    return await this.#judge.outcomes(reply.answer, view, items.length)
  }

  async #sendOne(item: PushItem, signal: AbortSignal): Promise<Outcome> {
    const attached = this.#documents.attachedTo(item)
    if (attached !== null) return await this.#documents.send(item, attached, signal)
    const view = viewOf(item, this.#destination.settings, null)
    const reply = await this.#requests.ask(...this.#requestFor(item), view, { signal })
    return 'failure' in reply ? reply.failure : await this.#judge.outcome(reply.answer, { item: view })
  }

  #requestFor({ remoteId }: PushItem): readonly ['update' | 'request', RequestTemplate] {
    const { request, update } = this.#destination
    return remoteId !== null && update !== null ? ['update', update] : ['request', request]
  }

  async #lookUp(item: PushItem, signal: AbortSignal): Promise<Outcome | null> {
    const { lookup } = this.#destination
    if (lookup === null) return null
    const look = await this.#look('lookup', lookup, item, signal)
    if (look.type !== 'there') return look.type === 'absent' ? null : look.outcome
    const outcome = taken(look.answer.status, remoteIdOf(look.found), 'the target has the record: the lookup found it')
    return this.#documents.attachedTo(item) === null ? outcome : this.#documents.afterRecord(outcome, 'lookup', look)
  }

  /**
   * Uses `check` if the destination has one and the record's id at the target is known. Otherwise uses `lookup`. For an
   * insert, `lookup` doesn't get the id at the target. The insert had no id when it was sent.
   */
  async #verify(item: PushItem, signal: AbortSignal): Promise<Presence> {
    const { check, lookup } = this.#destination
    const byId = check !== null && item.remoteId !== null
    if (!byId && lookup === null)
      return {
        type: 'undetermined',
        outcome: localFailure('the id of the record at the target is unknown, and no lookup is configured', false),
      }
    const ofItsOwn = item.operation === 'insert' ? { ...item, remoteId: null } : item
    const look = byId ? await this.#look('check', check, item, signal) : await this.#look('lookup', lookup as Lookup, ofItsOwn, signal)
    if (look.type === 'there') return { type: look.isSame ? 'has' : 'differs' }
    return look.type === 'absent' ? { type: 'lacks' } : { type: 'undetermined', outcome: look.outcome }
  }

  /**
   * Searches for a message at the target. The result is unclear if the request fails, if the answer is incomplete, or
   * if the expressions can't read the answer.
   */
  async #look(name: 'lookup' | 'check', template: Lookup, item: PushItem, signal: AbortSignal): Promise<Look> {
    const unclear = (outcome: Unclear): Look => ({ type: 'unclear', outcome })
    const { settings } = this.#destination
    const view = viewOf(item, settings, null)
    // The expressions of a destination that sends batches read `settings` at the top level, because a batch has no
    // `item`.
    const about = { item: view, settings }
    const reply = await this.#requests.ask(name, template, view, { signal })
    if ('failure' in reply) return unclear(failedLookup(reply.failure))
    const { answer, origin } = reply
    if (!isSuccess(answer.status) && ![404, 410].includes(answer.status))
      return unclear(failedLookup(await this.#judge.failure(answer, about)))
    // The pushed message could be in the part that was cut off, so the result is unclear.
    if (answer.cut?.isTooLong) return unclear(failedLookup(unreadable(`the answer ${answer.cut.text}; narrow the ${name}`)))
    if (answer.cut !== null) return unclear(failedLookup({ type: 'unknown', error: `the answer ${answer.cut.text}` }))
    try {
      const [found = null] = await this.#templates.evaluate([`${name}.found`], seen(answer, about), bodyOf(answer))
      if (found === null || found === false || found === '') return { type: 'absent' }
      // A count of 0 or an empty list makes the result unclear. If such a value counted as found, a change that the
      // target lacks would count as delivered.
      if (found === 0 || (typeof found === 'object' && Object.keys(found).length === 0))
        throw new PermanentError(`${name}.found must return an id or nothing`)
      if (!('same' in template) || template.same === null) return { type: 'there', answer, origin, found, isSame: true }
      const [same] = await this.#templates.evaluate([`${name}.same`], seen(answer, about), bodyOf(answer))
      return { type: 'there', answer, origin, found, isSame: same !== false }
    } catch (error) {
      return unclear(failedLookup(unreadable(messageOf(error))))
    }
  }
}

export function explainProbe(
  reply: { readonly answer: Answer } | { readonly failure: Failure },
  destination: HttpDestination,
): ProbeResult {
  if ('failure' in reply) return { ok: false, text: failureText(reply.failure) }
  const { answer } = reply
  const { status } = answer
  const what = answered(answer)
  const compare = 'compare the URL and the settings of the destination with those from the vendor'
  if (isSuccess(status) && answer.headers['content-type']?.startsWith('text/html'))
    return { ok: false, text: `${what} with a web page; ${compare}` }
  if (isSuccess(status)) return { ok: true, text: `${what}: the destination accepts the credentials` }
  if (status === 401)
    return { ok: false, text: `${what}: the destination rejects the credentials; compare auth with the credentials from the vendor` }
  if (status === 403)
    return {
      ok: false,
      text: `${what}: the credentials are valid but lack the right for this request; ask the agency whether it still allows access`,
    }
  if (status === 404) return { ok: false, text: `${what}: ${compare}` }
  if (destination.suspendOn.includes(status)) return { ok: false, text: `${what}, which suspends the destination (suspend_on)` }
  if (status === 429) return { ok: false, text: `${what}, which asks for a pause; try again later` }
  return {
    ok: false,
    text: status >= 500 ? `${what}: the server failed; try again later` : `${what}; check the \`probe\` request of the destination`,
  }
}

function failureText(failure: Failure): string {
  if (failure.type === 'suspend') return `${failure.error}; compare auth with the credentials from the vendor`
  return failure.type === 'failed' || failure.type === 'throttled' ? failure.error : `cannot be reached: ${failure.error}`
}
