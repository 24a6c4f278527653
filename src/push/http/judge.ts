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
  ofWholeBatch,
  refusal,
  refused,
  suspended,
  taken,
  throttled,
  unclear,
} from '../contract/outcomes.ts'
import { none, type RemoteId, remoteIdOf } from '../contract/remote-id.ts'
import { bodyOf, noSuccess, refuseCut, seen } from './answered.ts'
import { verdicts } from './expressions.ts'
import type { TemplateInput, Templates } from './templates.ts'

type Verdict = (typeof verdicts)[number]
/** What the expressions of the verdicts yield. */
type Told = { readonly [V in Verdict]?: Json | undefined }

/** What an answer means for a message. */
type Judgement =
  | { readonly type: 'throttled'; readonly pauseMs: number }
  | { readonly type: 'duplicate' | 'refused' | 'suspended' | 'success' | 'none' }

/** Pause of a destination that is throttled without telling for how long. */
const THROTTLED_MS = 60_000
/** Longest pause that an expression may ask for, and longest reason that is kept of an answer. */
const [LONGEST_PAUSE_S, REASON_LENGTH] = [3_600, 300]

/** Tells by the expressions of a destination, and else by the status, what an answer means for the messages that were sent. */
export class AnswerJudge {
  readonly #destination: HttpDestination
  readonly #templates: Templates
  readonly #names: readonly Verdict[]

  constructor(destination: HttpDestination, templates: Templates) {
    this.#destination = destination
    this.#templates = templates
    this.#names = verdicts.filter((name) => destination[name] !== null)
  }

  /** The outcome of a request that sent the message. @param sent what expressions about the answer see beside it. */
  async outcome(answer: Answer, sent: TemplateInput): Promise<Outcome> {
    let judgement: Judgement
    try {
      judgement = await this.#judge(answer, sent)
    } catch (error) {
      // The answer may say that it has the message, but cannot be read.
      return isSuccess(answer.status) ? unreadable(answer, error) : this.#notTaken(answer, 'success')
    }
    const isTaken = judgement.type === 'success' || judgement.type === 'duplicate'
    const told = isTaken ? answer : await this.#withReason(answer, sent)
    return this.#outcomeOf(judgement, told, isTaken ? await this.#remoteId(answer, sent) : remoteIdOf(null), 'success')
  }

  /**
   * The outcomes of a request that sent several messages, in their order. The answer is judged as a whole first, and when it is a success,
   * what `batch.result` says of each message is judged likewise.
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

  /** What a request that does not send the message, or sends what belongs to it, was answered without a success. */
  async failure(answer: Answer, sent: TemplateInput): Promise<Failure> {
    const pause = this.#names.includes('throttled') ? await this.#pause(answer, sent).catch(() => null) : null
    const told = await this.#withReason(answer, sent)
    return pause === null ? this.#refused(told, 'success') : throttled(told, pause)
  }

  async #judge(answer: Answer, sent: TemplateInput): Promise<Judgement> {
    const { success, refused: refuses, throttled: later, suspendOn } = this.#destination
    const byStatus = success === null && isSuccess(answer.status)
    // Taken, whether it is new or a duplicate: nothing in the answer could change that.
    if (byStatus && refuses === null && later === null) return { type: 'success' }
    const { told, problem } = await this.#evaluate(this.#names, answer, sent)
    if (problem !== null) return decidedBefore(told, problem)
    return judgementOf(byStatus ? { ...told, success: true } : told, suspendOn.includes(answer.status))
  }

  async #pause(answer: Answer, sent: TemplateInput): Promise<number | null> {
    return pauseIn((await this.#evaluate(['throttled'], answer, sent)).told.throttled)
  }

  /** @returns what the expressions yield, up to the first that fails, and why it does. */
  async #evaluate(
    names: readonly Verdict[],
    answer: Answer,
    sent: TemplateInput,
  ): Promise<{ readonly told: Told; readonly problem: string | null }> {
    if (names.length === 0) return { told: {}, problem: null }
    // Of an answer that is not whole nothing can be told but by its status.
    if (isSuccess(answer.status)) refuseCut(answer)
    const { values, problem } = await this.#templates.evaluateInTurn(names, seen(answer, sent), bodyOf(answer))
    return { told: Object.fromEntries(names.map((name, index) => [name, values[index] ?? null])), problem }
  }

  /** @param told the answer with its reason. @param id the target's, where it has the message. @param by the value that tells a success. */
  #outcomeOf(judgement: Judgement, told: Answer, id: RemoteId, by: 'success' | 'ok'): Outcome {
    switch (judgement.type) {
      case 'success':
        return taken(told.status, id, null)
      case 'duplicate':
        return taken(told.status, id, 'the target had it already')
      case 'throttled':
        return throttled(told, judgement.pauseMs)
      case 'refused':
        return { ...refusal(told), permanent: true, isFinal: true, error: `it ${answered(told)}, which refuses it (refused)` }
      case 'suspended':
        return this.#refused(told, by)
      case 'none':
        return this.#notTaken(told, by)
    }
  }

  /** @param result what `batch.result` yields of the message. */
  #outcomeInBatch(answer: Answer, result: { readonly [name: string]: Json | undefined }): Outcome {
    const { ok: success, throttled: later, duplicate, refused: refuses, remote_id: id = null, error } = result
    const judgement = judgementOf({ throttled: later, duplicate, refused: refuses, success }, false)
    // The text of the answer is about the other messages, too.
    const outcome = this.#outcomeOf(judgement, { ...answer, reason: reasonIn(error) ?? '' }, remoteIdOf(id), 'ok')
    return outcome.type === 'throttled' ? { ...outcome, isOwn: true } : outcome
  }

  /** The answer with the reason that the destination's `error` finds in it, which then stands for its whole text. */
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

  /** The target's id of a message that it certainly has. */
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
   * A target that breaks down, or gives an unexpected answer, may have taken the message before. Where a lookup is possible, the outcome is
   * unknown and looked up. Otherwise the answer counts as a failure: most targets that break down took nothing, and a person would have to
   * look for each message.
   */
  #notTaken(answer: Answer, by: 'success' | 'ok'): Failure {
    const { lookup, idempotent } = this.#destination
    const failure = this.#refused(answer, by)
    const isOpen = isSuccess(answer.status) || answer.status === 408 || isBroken(answer.status)
    if (failure.type !== 'failed' || lookup === null || idempotent || !isOpen) return failure
    return unclear(answer, `${failure.error}: it may have been taken`)
  }

  #refused(answer: Answer, by: 'success' | 'ok'): Failure {
    const { status } = answer
    if (this.#destination.suspendOn.includes(status)) return suspended(answer)
    return isSuccess(status) ? noSuccess(answer, by) : refused(answer)
  }
}

/** The first that holds, in the order in which they count, of a whole answer as of what it says of one of its messages. */
function judgementOf(told: Told, isSuspended: boolean): Judgement {
  const pauseMs = pauseIn(told.throttled)
  if (pauseMs !== null) return { type: 'throttled', pauseMs }
  if (told.duplicate === true) return { type: 'duplicate' }
  if (told.refused === true) return { type: 'refused' }
  if (isSuspended) return { type: 'suspended' }
  return { type: told.success === true ? 'success' : 'none' }
}

/**
 * A verdict counts before all that are evaluated after it, so that one of them that fails cannot undo it.
 * @throws PermanentError when none of those before the failed one is true.
 */
function decidedBefore(told: Told, problem: string): Judgement {
  const judgement = judgementOf(told, false)
  if (judgement.type === 'none') throw new PermanentError(problem)
  return judgement
}

/** @throws PermanentError when there is not one for each message. */
function resultsIn(result: Json, count: number): { readonly [name: string]: Json }[] {
  // JSONata makes a list of one value that value.
  const results = count === 1 && !Array.isArray(result) ? [result] : result
  if (!Array.isArray(results) || results.length !== count)
    throw new PermanentError(`batch.result yields ${Array.isArray(results) ? results.length : 'no'} values for ${count} changes`)
  return results.map((each) => {
    if (!isObject(each)) throw new PermanentError('batch.result yields a value that is no object')
    return each as { readonly [name: string]: Json }
  })
}

function unreadable(answer: Answer, error: unknown): Failure {
  return unclear(answer, `it ${answered(answer)}, but ${messageOf(error)}`)
}

/** @returns what may be kept of the reason that an expression yields; null for none. */
function reasonIn(value: Json | undefined): string | null {
  if (typeof value !== 'string' || value.trim() === '') return null
  return withoutSecretWords(value).slice(0, REASON_LENGTH)
}

/** @returns the pause that a value of `throttled` asks for, in milliseconds; null for none. */
function pauseIn(value: Json | undefined): number | null {
  if (value === true) return THROTTLED_MS
  return typeof value === 'number' && value > 0 ? Math.min(value, LONGEST_PAUSE_S) * 1_000 : null
}
