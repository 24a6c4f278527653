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

/** Result of a request: an answer to judge, or an outcome without one. */
type Reply = { readonly answer: Answer } | { readonly failure: Failure }
type Built = Pick<OutgoingRequest, 'method' | 'url' | 'headers' | 'body'>

/** Longest body that is read of an answer, and of all answers in flight together. */
const ANSWER_BYTES = 4 * 1024 * 1024
const ALL_ANSWERS_BYTES = 64 * 1024 * 1024

/** Delivers each change by one templated request, to REST and SOAP systems alike. */
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
    if ('failure' in reply) return failedLookup(reply.failure)
    const { answer } = reply
    if (!isSuccess(answer.status) && answer.status !== 404) return failedLookup(this.#refused(answer))
    // The rest could say that the message is there.
    if (answer.cut?.isTooLong) return failedLookup(unreadable(`its answer ${answer.cut.text}; narrow the lookup`))
    if (answer.cut !== null) return failedLookup({ type: 'unknown', error: `its answer ${answer.cut.text}` })
    try {
      const [found = null] = await this.#templates.evaluate(['lookup.found'], seen(answer, view), bodyOf(answer))
      if (found === null || found === false || found === '') return null
      // Otherwise a count of 0 or an empty list would count as found, and the change would be lost.
      if (found === 0 || (typeof found === 'object' && Object.keys(found).length === 0))
        throw new PermanentError('lookup.found yields neither an id nor nothing')
      return taken(answer.status, remoteIdOf(found), 'the target has it: it was found by its id')
    } catch (error) {
      return failedLookup(unreadable(messageOf(error)))
    }
  }

  /** Builds and sends a request, and once more with a new token when the first was refused. Never rejects. */
  async #ask(name: RequestName, template: RequestTemplate, view: TemplateInput, signal: AbortSignal): Promise<Reply> {
    let built: Built
    try {
      built = await this.#build(name, template, view)
    } catch (error) {
      return { failure: localFailure(messageOf(error), error instanceof PermanentError) }
    }
    const startedAt = this.#clock.steady()
    const leftMs = (): number => Math.max(1, Math.ceil(this.#destination.timeoutMs - (this.#clock.steady() - startedAt)))
    for (let renewed = false; ; renewed = true) {
      const auth = await this.#auth.headers(leftMs(), signal)
      if ('failure' in auth) return auth
      const headers = { ...built.headers, ...auth.headers }
      const result = await this.#transport.send({ ...built, headers, timeoutMs: leftMs() }, signal)
      if (result.type !== 'answer') return { failure: unanswered(result) }
      // A 401 comes before anything is done, so repeating the request does no harm.
      if (result.status === 401 && !renewed && this.#auth.renew(auth.headers)) continue
      return { answer: withoutToken(result, auth.headers) }
    }
  }

  /** @throws PermanentError when a template fails, or yields something that cannot be sent. */
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
      // The answer may say that it has the message, but cannot be read.
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
      // It certainly has the message.
      return taken(answer.status, none(messageOf(error)), detail)
    }
  }

  /**
   * A target that breaks down, or gives an unexpected answer, may have taken the message before. Where a lookup is possible, the outcome is
   * unknown and looked up. Otherwise the answer counts as a failure: most targets that break down took nothing, and a person would have to
   * look for each message.
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

/** What expressions about an answer see, beside its body. */
function seen({ status, headers }: Answer, item: Json): TemplateInput {
  return { status, headers, item }
}

/** A shorter token could be part of an id by chance. */
const TOKEN_LENGTH = 16

/** Masks the token that the request had. It is no secret of the settings and may look like an id, so nothing else masks it. */
function withoutToken(answer: Answer, { authorization = '' }: Readonly<Record<string, string>>): Answer {
  const token = authorization.replace(/^\S+ /, '')
  if (token.length < TOKEN_LENGTH || !answer.body.includes(token)) return answer
  return { ...answer, body: answer.body.replaceAll(token, '[…]') }
}

function bodyOf({ body, cut }: Answer): AnswerBody {
  return { text: body, isWhole: cut === null }
}

/** @throws PermanentError when the answer is incomplete. */
function refuseCut({ cut }: Answer): void {
  if (cut !== null) throw new PermanentError(`its answer ${cut.text}`)
}

/** A 2xx whose body means a failure, as SOAP systems answer. */
function noSuccess(answer: Answer): Failure {
  const error = `it ${answered(answer)}, which is no success (success)`
  return { type: 'failed', permanent: false, alive: true, status: answer.status, error, retryAfterMs: answer.retryAfterMs }
}

/** It answered something that cannot be used. */
function unreadable(error: string): Failure {
  return { ...localFailure(error, false), alive: true }
}

/** A lookup changes nothing: an unknown outcome is only a failure, and a refusal says nothing about the message. */
function failedLookup(failure: Failure): Outcome {
  const error = 'error' in failure ? `it could not be looked up: ${failure.error}` : ''
  if (failure.type === 'stop') return { ...failure, error }
  const { alive, status } = failure.type === 'failed' ? failure : { alive: false, status: null }
  return { type: 'failed', permanent: false, alive, status, error, retryAfterMs: requestedPauseMs(failure) }
}
