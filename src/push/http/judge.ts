import { messageOf } from '../../base/errors.ts'
import type { HttpDestination } from '../../config/config.ts'
import type { Json } from '../../model/json.ts'
import { withoutSecretWords } from '../../upstream/http/answer.ts'
import type { Outcome } from '../contract/delivery.ts'
import {
  type Answer,
  answered,
  type Failure,
  isBroken,
  isSuccess,
  refusal,
  refused,
  taken,
  throttled,
  unclear,
} from '../contract/outcomes.ts'
import { none, remoteIdOf } from '../contract/remote-id.ts'
import { bodyOf, noSuccess, refuseCut, seen } from './answered.ts'
import { verdicts } from './expressions.ts'
import type { TemplateInput, Templates } from './templates.ts'

type Verdict = (typeof verdicts)[number]

/** Pause of a destination that is throttled without telling for how long. */
const THROTTLED_MS = 60_000
/** Longest pause that an expression may ask for, and longest reason that is kept of an answer. */
const [LONGEST_PAUSE_S, REASON_LENGTH] = [3_600, 300]

/** Tells by the expressions of a destination, and else by the status, what an answer means for the message. */
export class AnswerJudge {
  readonly #destination: HttpDestination
  readonly #templates: Templates
  readonly #names: readonly Verdict[]

  constructor(destination: HttpDestination, templates: Templates) {
    this.#destination = destination
    this.#templates = templates
    this.#names = verdicts.filter((name) => destination[name] !== null)
  }

  /** The outcome of a request that sent the message. */
  async outcome(answer: Answer, view: TemplateInput): Promise<Outcome> {
    let verdict: Outcome | Verdict | null
    try {
      verdict = await this.#verdict(answer, view)
    } catch (error) {
      // The answer may say that it has the message, but cannot be read.
      if (isSuccess(answer.status)) return unclear(answer, `it ${answered(answer)}, but ${messageOf(error)}`)
      return this.#notTaken(answer)
    }
    if (verdict === 'success') return await this.#delivered(answer, view, null)
    if (verdict === 'duplicate') return await this.#delivered(answer, view, 'the target had it already')
    const told = await this.#told(answer, view)
    return verdict === null || typeof verdict === 'string' ? this.#notTaken(told, verdict === 'refused') : verdict
  }

  /** What a request that does not send the message, or sends what belongs to it, was answered without a success. */
  async failure(answer: Answer, view: TemplateInput): Promise<Failure> {
    const pause = this.#names.includes('throttled') ? await this.#pause(answer, view).catch(() => null) : null
    const told = await this.#told(answer, view)
    return pause === null ? this.#refused(told) : throttled(told, pause)
  }

  async #verdict(answer: Answer, view: TemplateInput): Promise<Outcome | Verdict | null> {
    const { success, refused: refuses, throttled: later } = this.#destination
    const byStatus = success === null && isSuccess(answer.status)
    // Taken, whether it is new or a duplicate: nothing in the answer could change that.
    if (byStatus && refuses === null && later === null) return 'success'
    const values = await this.#evaluate(this.#names, answer, view)
    const pauseMs = pauseIn(values.get('throttled'))
    if (pauseMs !== null) return throttled(await this.#told(answer, view), pauseMs)
    if (values.get('duplicate') === true) return 'duplicate'
    if (values.get('refused') === true) return 'refused'
    if (this.#destination.parkOn.includes(answer.status)) return this.#refused(await this.#told(answer, view))
    return byStatus || values.get('success') === true ? 'success' : null
  }

  async #pause(answer: Answer, view: TemplateInput): Promise<number | null> {
    return pauseIn((await this.#evaluate(['throttled'], answer, view)).get('throttled'))
  }

  async #evaluate(names: readonly Verdict[], answer: Answer, view: TemplateInput): Promise<ReadonlyMap<Verdict, Json>> {
    if (names.length === 0) return new Map()
    // Of an answer that is not whole nothing can be told but by its status.
    if (isSuccess(answer.status)) refuseCut(answer)
    const values = await this.#templates.evaluate(names, seen(answer, view), bodyOf(answer))
    return new Map(names.map((name, index) => [name, values[index] ?? null]))
  }

  /** The answer with the reason that the destination's `error` finds in it, which then stands for its whole text. */
  async #told(answer: Answer, view: TemplateInput): Promise<Answer> {
    if (this.#destination.error === null) return answer
    try {
      const [reason] = await this.#templates.evaluate(['error'], seen(answer, view), bodyOf(answer))
      if (typeof reason !== 'string' || reason.trim() === '') return answer
      return { ...answer, reason: withoutSecretWords(reason).slice(0, REASON_LENGTH) }
    } catch {
      return answer
    }
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
  #notTaken(answer: Answer, isFinal = false): Failure {
    const { lookup, idempotent } = this.#destination
    if (isFinal) return { ...refusal(answer), permanent: true, isFinal, error: `it ${answered(answer)}, which refuses it (refused)` }
    const failure = this.#refused(answer)
    const isOpen = isSuccess(answer.status) || answer.status === 408 || isBroken(answer.status)
    if (failure.type !== 'failed' || lookup === null || idempotent || !isOpen) return failure
    return unclear(answer, `${failure.error}: it may have been taken`)
  }

  #refused(answer: Answer): Failure {
    const { status } = answer
    if (!this.#destination.parkOn.includes(status)) return isSuccess(status) ? noSuccess(answer) : refused(answer)
    return { type: 'stop', state: 'parked', status, error: `it refuses the credential, by park_on: it ${answered(answer)}` }
  }
}

/** @returns the pause that a value of `throttled` asks for, in milliseconds; null for none. */
function pauseIn(value: Json | undefined): number | null {
  if (value === true) return THROTTLED_MS
  return typeof value === 'number' && value > 0 ? Math.min(value, LONGEST_PAUSE_S) * 1_000 : null
}
