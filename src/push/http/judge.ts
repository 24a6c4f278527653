import { messageOf, PermanentError } from '../../base/errors.ts'
import type { HttpDestination } from '../../config/config.ts'
import { isObject, type Json } from '../../model/json.ts'
import { withoutSecretWords } from '../../upstream/http/answer.ts'
import type { Outcome } from '../contract/delivery.ts'
import {
  type Answer,
  answered,
  type Failure,
  isBroken,
  isSuccess,
  none,
  ofWholeBatch,
  type RemoteId,
  refusal,
  refused,
  remoteIdOf,
  suspended,
  taken,
  throttled,
  unclear,
} from '../contract/outcomes.ts'
import { bodyOf, noSuccess, refuseCut, seen } from './answered.ts'
import { verdicts } from './expressions.ts'
import type { TemplateInput, Templates } from './templates.ts'

type Verdict = (typeof verdicts)[number]
/** Values that the expressions of the verdicts yielded. */
type VerdictValues = { readonly [V in Verdict]?: Json | undefined }

/** What an answer means for a message. */
type Judgement =
  | { readonly type: 'throttled'; readonly pauseMs: number }
  | { readonly type: 'duplicate' | 'refused' | 'suspended' | 'success' | 'none' }

/** Pause in ms if an expression throttles the destination without naming a time. */
const THROTTLED_MS = 60_000
/** The longest pause that an expression can request, in s. The longest reason, in characters. */
const [LONGEST_PAUSE_S, REASON_LENGTH] = [3_600, 300]

/**
 * Judges the answers of a destination by the destination's expressions. If no expression decides, the HTTP status
 * decides.
 */
export class AnswerJudge {
  readonly #destination: HttpDestination
  readonly #templates: Templates
  readonly #names: readonly Verdict[]

  constructor(destination: HttpDestination, templates: Templates) {
    this.#destination = destination
    this.#templates = templates
    this.#names = verdicts.filter((name) => destination[name] !== null)
  }

  /**
   * @returns the outcome of a request that sent one message.
   * @param sent input of the expressions, in addition to the answer.
   */
  async outcome(answer: Answer, sent: TemplateInput): Promise<Outcome> {
    let judgement: Judgement
    try {
      judgement = await this.#judge(answer, sent)
    } catch (error) {
      // After a 2xx answer that can't be read, the target may have the message.
      return isSuccess(answer.status) ? unreadable(answer, error) : this.#notTaken(answer, 'success')
    }
    const isTaken = judgement.type === 'success' || judgement.type === 'duplicate'
    const found = isTaken ? answer : await this.#withReason(answer, sent)
    return this.#outcomeOf(judgement, found, isTaken ? await this.#remoteId(answer, sent) : remoteIdOf(null), 'success')
  }

  /**
   * @returns the outcomes of a request that sent several messages, in order. If the whole answer is a success,
   * `batch.result` decides for each message. Otherwise, the messages share one outcome.
   */
  async outcomes(answer: Answer, sent: TemplateInput, count: number): Promise<readonly Outcome[]> {
    const whole = await this.outcome(answer, sent)
    if (whole.type !== 'delivered') return ofWholeBatch(whole, count)
    try {
      refuseCut(answer)
      const [result = null] = await this.#templates.evaluate(['batch.result'], seen(answer, sent), bodyOf(answer))
      return resultsIn(result, count).map((each) => this.#outcomeInBatch(answer, each))
    } catch (error) {
      return ofWholeBatch(unreadable(answer, error), count)
    }
  }

  /** @returns the outcome of a failed lookup, check, or upload. */
  async failure(answer: Answer, sent: TemplateInput): Promise<Failure> {
    const pause = this.#names.includes('throttled') ? await this.#pause(answer, sent).catch(() => null) : null
    const found = await this.#withReason(answer, sent)
    return pause === null ? this.#refused(found, 'success') : throttled(found, pause)
  }

  async #judge(answer: Answer, sent: TemplateInput): Promise<Judgement> {
    const { success, refused: refuses, throttled: later, suspendOn } = this.#destination
    const byStatus = success === null && isSuccess(answer.status)
    // Without an expression that could decide otherwise, a 2xx is a success.
    if (byStatus && refuses === null && later === null) return { type: 'success' }
    const { found, problem } = await this.#evaluate(this.#names, answer, sent)
    if (problem !== null) return decidedBefore(found, problem)
    return judgementOf(byStatus ? { ...found, success: true } : found, suspendOn.includes(answer.status))
  }

  async #pause(answer: Answer, sent: TemplateInput): Promise<number | null> {
    return pauseIn((await this.#evaluate(['throttled'], answer, sent)).found.throttled)
  }

  async #evaluate(
    names: readonly Verdict[],
    answer: Answer,
    sent: TemplateInput,
  ): Promise<{ readonly found: VerdictValues; readonly problem: string | null }> {
    if (names.length === 0) return { found: {}, problem: null }
    // Throws if the body of a 2xx answer is incomplete, because the expressions could misjudge the answer.
    if (isSuccess(answer.status)) refuseCut(answer)
    const { values, problem } = await this.#templates.evaluateInTurn(names, seen(answer, sent), bodyOf(answer))
    return { found: Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])), problem }
  }

  /** @param by name of the expression that decides about success. */
  #outcomeOf(judgement: Judgement, found: Answer, id: RemoteId, by: 'success' | 'ok'): Outcome {
    switch (judgement.type) {
      case 'success':
        return taken(found.status, id, null)
      case 'duplicate':
        return taken(found.status, id, 'the target already had the record')
      case 'throttled':
        return throttled(found, judgement.pauseMs)
      case 'refused':
        return { ...refusal(found), permanent: true, isFinal: true, error: `${answered(found)}, which rejects the change (refused)` }
      case 'suspended':
        return this.#refused(found, by)
      case 'none':
        return this.#notTaken(found, by)
    }
  }

  #outcomeInBatch(answer: Answer, result: { readonly [name: string]: Json | undefined }): Outcome {
    const { ok: success, throttled: later, duplicate, refused: refuses, remote_id: id = null, error } = result
    const judgement = judgementOf({ throttled: later, duplicate, refused: refuses, success }, false)
    // The answer's own text isn't used as the reason, because the text is also about the other messages of the batch.
    const outcome = this.#outcomeOf(judgement, { ...answer, reason: reasonIn(error) ?? '' }, remoteIdOf(id), 'ok')
    return outcome.type === 'throttled' ? { ...outcome, isOwn: true } : outcome
  }

  /**
   * Evaluates the destination's `error` expression. If the expression yields a reason, the reason replaces
   * the answer's text.
   */
  async #withReason(answer: Answer, sent: TemplateInput): Promise<Answer> {
    if (this.#destination.error === null) return answer
    try {
      const [error] = await this.#templates.evaluate(['error'], seen(answer, sent), bodyOf(answer))
      const reason = reasonIn(error)
      return reason === null ? answer : { ...answer, reason }
    } catch {
      return answer
    }
  }

  async #remoteId(answer: Answer, sent: TemplateInput): Promise<RemoteId> {
    if (this.#destination.remoteId === null) return remoteIdOf(null)
    try {
      refuseCut(answer)
      const [id = null] = await this.#templates.evaluate(['remote_id'], seen(answer, sent), bodyOf(answer))
      return remoteIdOf(id)
    } catch (error) {
      return none(messageOf(error))
    }
  }

  /**
   * @returns the outcome of an answer that isn't a success. After a 408, a server error, or an unexpected 2xx, the
   * target may still have the message. If `lookup` is set and duplicates are harmful, the outcome is then unknown, and
   * a lookup follows. Otherwise, the status decides (see `refused`), and the outcome is usually a failure. Without
   * `lookup`, a person would have to check each unknown outcome, although most targets accepted nothing.
   */
  #notTaken(answer: Answer, by: 'success' | 'ok'): Failure {
    const { lookup, idempotent } = this.#destination
    const failure = this.#refused(answer, by)
    const isOpen = isSuccess(answer.status) || answer.status === 408 || isBroken(answer.status)
    if (failure.type !== 'failed' || lookup === null || idempotent || !isOpen) return failure
    return unclear(answer, `${failure.error}; the change may have been accepted`)
  }

  #refused(answer: Answer, by: 'success' | 'ok'): Failure {
    const { status } = answer
    if (this.#destination.suspendOn.includes(status)) return suspended(answer)
    return isSuccess(status) ? noSuccess(answer, by) : refused(answer)
  }
}

/** @returns the first verdict that applies, by precedence. */
function judgementOf(found: VerdictValues, isSuspended: boolean): Judgement {
  const pauseMs = pauseIn(found.throttled)
  if (pauseMs !== null) return { type: 'throttled', pauseMs }
  if (found.duplicate === true) return { type: 'duplicate' }
  if (found.refused === true) return { type: 'refused' }
  if (isSuspended) return { type: 'suspended' }
  return { type: found.success === true ? 'success' : 'none' }
}

/**
 * Judges by the verdicts that were evaluated before an expression failed. If one of these verdicts is true, the failed
 * expression doesn't matter.
 * @throws PermanentError if none of these verdicts is true.
 */
function decidedBefore(found: VerdictValues, problem: string): Judgement {
  const judgement = judgementOf(found, false)
  if (judgement.type === 'none') throw new PermanentError(problem)
  return judgement
}

/** @throws PermanentError unless `result` has exactly one object per message. */
function resultsIn(result: Json, count: number): { readonly [name: string]: Json }[] {
  // JSONata returns a list with one value as the value itself.
  const results = count === 1 && !Array.isArray(result) ? [result] : result
  if (!Array.isArray(results) || results.length !== count)
    throw new PermanentError(`batch.result returned ${Array.isArray(results) ? results.length : 'no'} values for ${count} changes`)
  return results.map((each) => {
    if (!isObject(each)) throw new PermanentError('batch.result returned a value that is not an object')
    return each as { readonly [name: string]: Json }
  })
}

function unreadable(answer: Answer, error: unknown): Failure {
  return unclear(answer, `${answered(answer)}, but ${messageOf(error)}`)
}

function reasonIn(value: Json | undefined): string | null {
  if (typeof value !== 'string' || value.trim() === '') return null
  return withoutSecretWords(value).slice(0, REASON_LENGTH)
}

/** @returns the pause in ms; null if the value requests none. */
function pauseIn(value: Json | undefined): number | null {
  if (value === true) return THROTTLED_MS
  return typeof value === 'number' && value > 0 ? Math.min(value, LONGEST_PAUSE_S) * 1_000 : null
}
