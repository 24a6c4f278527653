import type { Clock } from '../../base/clock.ts'
import { messageOf, PermanentError } from '../../base/errors.ts'
import type { HttpDestination, RequestTemplate } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import type { DeliveryKind, KindContext, Outcome, ProbeResult, PushItem } from '../contract/delivery.ts'
import {
  type Answer,
  answered,
  type Failure,
  isBroken,
  isSuccess,
  localFailure,
  refused,
  requestedPauseMs,
  taken,
  unanswered,
  unclear,
} from '../contract/outcomes.ts'
import { none, remoteIdOf } from '../contract/remote-id.ts'
import type { AnswerBody } from '../http/answer-body.ts'
import type { Auth } from '../http/auth.ts'
import { createAuth } from '../http/create-auth.ts'
import { encodeBody } from '../http/encode.ts'
import { allExpressions, expressionsOf, headerName, type RequestName } from '../http/expressions.ts'
import { explainProbe } from '../http/probe.ts'
import { type TemplateInput, Templates } from '../http/templates.ts'
import { viewOf } from '../http/view.ts'
import { type OutgoingRequest, openTransport, type Transport } from '../transport/transport.ts'

/** What came of a request: an answer to judge, or an outcome that needs none. */
type Reply = { readonly answer: Answer } | { readonly failure: Failure }
type Built = Pick<OutgoingRequest, 'method' | 'url' | 'headers' | 'body'>

/** The most that is read of an answer; with many requests under way at once it is less, since memory holds all their answers. */
const ANSWER_BYTES = 4 * 1024 * 1024
const ALL_ANSWERS_BYTES = 64 * 1024 * 1024

/** Delivers by one templated request for each change, to REST and SOAP systems alike. */
export function createHttp(destination: HttpDestination, context: KindContext): DeliveryKind {
  const bodyLimitBytes = Math.min(ANSWER_BYTES, Math.floor(ALL_ANSWERS_BYTES / destination.concurrency))
  const transport = openTransport(destination, context.proxy, { clock: context.clock, bodyLimitBytes })
  return new HttpKind(destination, transport, context.clock)
}

class HttpKind implements DeliveryKind {
  readonly batch = { type: 'one' } as const
  readonly lookUp: DeliveryKind['lookUp']
  readonly #destination: HttpDestination
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #auth: Auth
  readonly #templates: Templates

  constructor(destination: HttpDestination, transport: Transport, clock: Clock) {
    this.#destination = destination
    this.#transport = transport
    this.#clock = clock
    this.#auth = createAuth(destination, transport, clock)
    this.#templates = new Templates(allExpressions(destination))
    this.lookUp = destination.lookup === null ? undefined : (item, signal) => this.#lookUp(item, signal)
  }

  async send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = []
    for (const item of items) outcomes.push(await this.#sendOne(item, signal))
    return outcomes
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const { probe, settings, timeoutMs } = this.#destination
    if (probe !== null) return explainProbe(await this.#ask('probe', probe, { settings }, signal), this.#destination)
    const got = await this.#auth.headers(timeoutMs, signal)
    if ('failure' in got) return explainProbe(got, this.#destination)
    return { ok: false, text: 'it has no probe request, so nothing harmless can be tried; give it one (probe)' }
  }

  async close(): Promise<void> {
    await this.#templates.close()
    await this.#transport.close()
  }

  async #sendOne(item: PushItem, signal: AbortSignal): Promise<Outcome> {
    const { request, update, settings } = this.#destination
    const view = viewOf(item, settings)
    const reply =
      item.remoteId !== null && update !== null
        ? await this.#ask('update', update, view, signal)
        : await this.#ask('request', request, view, signal)
    return 'failure' in reply ? reply.failure : await this.#judge(reply.answer, view)
  }

  async #lookUp(item: PushItem, signal: AbortSignal): Promise<Outcome | null> {
    const { lookup, settings } = this.#destination
    if (lookup === null) return null
    const view = viewOf(item, settings)
    const reply = await this.#ask('lookup', lookup, view, signal)
    if ('failure' in reply) return lookingFailed(reply.failure)
    const { answer } = reply
    if (!isSuccess(answer.status) && answer.status !== 404) return lookingFailed(this.#refused(answer))
    // What would say that the message is there may stand in the rest.
    if (answer.cut?.isTooLong) return lookingFailed(unreadable(`its answer ${answer.cut.text}; narrow the lookup`))
    if (answer.cut !== null) return lookingFailed({ type: 'unknown', error: `its answer ${answer.cut.text}` })
    try {
      const [found = null] = await this.#templates.evaluate(['lookup.found'], seen(answer, view), bodyOf(answer))
      if (found === null || found === false || found === '') return null
      // A count of 0 or an empty list would else count as found, and the change be lost.
      if (found === 0 || (typeof found === 'object' && Object.keys(found).length === 0))
        throw new PermanentError('lookup.found yields neither an id nor nothing')
      return taken(answer.status, remoteIdOf(found), 'the target has it: it was found by its id')
    } catch (error) {
      return lookingFailed(unreadable(messageOf(error)))
    }
  }

  /** Builds a request, sends it, and once more with a new token when the first was refused. Never rejects. */
  async #ask(name: RequestName, template: RequestTemplate, view: TemplateInput, signal: AbortSignal): Promise<Reply> {
    let built: Built
    try {
      built = await this.#build(name, template, view)
    } catch (error) {
      return { failure: localFailure(messageOf(error), error instanceof PermanentError) }
    }
    const startedAt = this.#clock.now()
    const leftMs = (): number => Math.max(1, this.#destination.timeoutMs - (this.#clock.now() - startedAt))
    for (let renewed = false; ; renewed = true) {
      const auth = await this.#auth.headers(leftMs(), signal)
      if ('failure' in auth) return auth
      const headers = { ...built.headers, ...auth.headers }
      const result = await this.#transport.send({ ...built, headers, timeoutMs: leftMs() }, signal)
      if (result.type !== 'answer') return { failure: unanswered(result) }
      // A 401 was given before anything was done, so that repeating the request does no harm.
      if (result.status === 401 && !renewed && this.#auth.renew(auth.headers)) continue
      return { answer: withoutTicket(result, auth.headers) }
    }
  }

  /** @throws PermanentError when a template fails, or yields what cannot be sent. */
  async #build(name: RequestName, template: RequestTemplate, view: TemplateInput): Promise<Built> {
    const names = expressionsOf(name, template).map((expression) => expression.name)
    const values = await this.#templates.evaluate(names, view)
    const yielded = (expression: string): Json => values[names.indexOf(expression)] ?? null
    const url = yielded(`${name}.url`)
    if (typeof url !== 'string' || !URL.canParse(url)) throw new PermanentError(`${name}.url yields no URL`)
    const headers: Record<string, string> = {}
    for (const header of Object.keys(template.headers)) {
      const value = yielded(headerName(name, header))
      if (value === null) continue
      if (typeof value !== 'string' || !/^[\t\x20-\x7e]*$/.test(value))
        throw new PermanentError(`${name}.headers.${header} yields no plain text`)
      headers[header.toLowerCase()] = value
    }
    if (template.body === null) return { method: template.method, url, headers, body: null }
    const { text, contentType } = encodeBody(template.format, yielded(`${name}.body`))
    return { method: template.method, url, headers: { 'content-type': contentType, ...headers }, body: text }
  }

  async #judge(answer: Answer, view: TemplateInput): Promise<Outcome> {
    const { success, duplicate } = this.#destination
    const byStatus = success === null && isSuccess(answer.status)
    const names = [success === null ? null : 'success', duplicate === null || byStatus ? null : 'duplicate'].filter((name) => name !== null)
    let said: ReadonlyMap<string, Json> = new Map()
    try {
      if (names.length > 0) {
        if (isSuccess(answer.status)) refuseCut(answer)
        const values = await this.#templates.evaluate(names, seen(answer, view), bodyOf(answer))
        said = new Map(names.map((name, index) => [name, values[index] ?? null]))
      }
    } catch (error) {
      // It answered, perhaps that it has the message, and nobody can read it.
      if (isSuccess(answer.status)) return unclear(answer, `it ${answered(answer)}, but ${messageOf(error)}`)
      return this.#notTaken(answer)
    }
    if (byStatus || said.get('success') === true) return await this.#delivered(answer, view, null)
    if (said.get('duplicate') === true) return await this.#delivered(answer, view, 'the target had it already')
    return this.#notTaken(answer)
  }

  async #delivered(answer: Answer, view: TemplateInput, detail: string | null): Promise<Outcome> {
    if (this.#destination.remoteId === null) return taken(answer.status, remoteIdOf(null), detail)
    try {
      refuseCut(answer)
      const [id = null] = await this.#templates.evaluate(['remote_id'], seen(answer, view), bodyOf(answer))
      return taken(answer.status, remoteIdOf(id), detail)
    } catch (error) {
      // That it was taken is certain all the same.
      return taken(answer.status, none(messageOf(error)), detail)
    }
  }

  /**
   * Who breaks down, or answers something else, may have taken the message before. Where that can be asked, it is: it costs little. Else
   * the answer is believed, for most that break down have taken nothing, and a person would have to look for each.
   */
  #notTaken(answer: Answer): Failure {
    const { lookup, idempotent } = this.#destination
    const failure = this.#refused(answer)
    const isOpen = isSuccess(answer.status) || answer.status === 408 || isBroken(answer.status)
    if (failure.type !== 'failed' || lookup === null || idempotent || !isOpen) return failure
    return unclear(answer, `${failure.error}: it may have been taken`)
  }

  #refused(answer: Answer): Failure {
    const { status } = answer
    if (!this.#destination.parkOn.includes(status)) return isSuccess(status) ? noSuccess(answer) : refused(answer)
    return { type: 'stop', state: 'parked', status, error: `it ${answered(answer)}: it refuses the credential (park_on)` }
  }
}

/** What the expressions about an answer see beside its body. */
function seen({ status, headers }: Answer, item: Json): TemplateInput {
  return { status, headers, item }
}

/** Shorter ones could be a part of an id by chance. */
const TICKET_LENGTH = 16

/** A token that was asked for is no secret of the settings, and may look like an id: nobody else would know it again. */
function withoutTicket(answer: Answer, { authorization = '' }: Readonly<Record<string, string>>): Answer {
  const ticket = authorization.replace(/^\S+ /, '')
  if (ticket.length < TICKET_LENGTH || !answer.body.includes(ticket)) return answer
  return { ...answer, body: answer.body.replaceAll(ticket, '[…]') }
}

function bodyOf({ body, cut }: Answer): AnswerBody {
  return { text: body, isWhole: cut === null }
}

/** @throws PermanentError when the answer is not whole, so that nobody knows what the rest of it says. */
function refuseCut({ cut }: Answer): void {
  if (cut !== null) throw new PermanentError(`its answer ${cut.text}`)
}

/** A 2xx whose content says otherwise, as SOAP systems do. */
function noSuccess(answer: Answer): Failure {
  const error = `it ${answered(answer)}, which is no success (success)`
  return { type: 'failed', permanent: false, alive: true, status: answer.status, error, retryAfterMs: answer.retryAfterMs }
}

/** It answered, and what it said helps nobody. */
function unreadable(error: string): Failure {
  return { ...localFailure(error, false), alive: true }
}

/** Looking changes nothing, so that an outcome that nobody knows is only a failure; nor does a refusal say anything about the message. */
function lookingFailed(failure: Failure): Outcome {
  const error = 'error' in failure ? `it could not be looked up: ${failure.error}` : ''
  if (failure.type === 'stop') return { ...failure, error }
  const { alive, status } = failure.type === 'failed' ? failure : { alive: false, status: null }
  return { type: 'failed', permanent: false, alive, status, error, retryAfterMs: requestedPauseMs(failure) }
}
