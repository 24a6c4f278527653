import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerBody } from './answer-body.ts'
import type { Expression } from './expressions.ts'
import { templatePool } from './template-pool.ts'

/** The input that expressions see as `$`. */
export type TemplateInput = { readonly [name: string]: Json }

/**
 * `values` has the results in order, up to the first failure. `problem` describes the failure; null if there is none.
 */
export interface TemplateAnswer {
  readonly values: Json[]
  readonly problem: string | null
}

/**
 * Time limit for all expressions of one job, in ms. One change takes microseconds. A second is enough even on a very
 * busy machine.
 */
const DEADLINE_MS = 1_000
const CLOSED = 'the destination is closing'

export class Templates {
  readonly #texts: ReadonlyMap<string, string>
  readonly #deadlineMs: number
  #isClosed = false

  /** @param expressions expressions that passed `checkTemplates`. */
  constructor(expressions: readonly Expression[], deadlineMs = DEADLINE_MS) {
    this.#texts = new Map(expressions.map(({ name, text }) => [name, text]))
    this.#deadlineMs = deadlineMs
  }

  /**
   * Evaluates expressions.
   * @param input what expressions see as `$`.
   * @param body the answer that expressions see as `body`; null if there is none.
   * @returns the values in order, with null for each expression that yields nothing.
   * @throws PermanentError if an expression fails, or takes too much time or memory.
   * @throws PermanentError if `input` can't be written as JSON, or `body` can't be read.
   * @throws TransientError if evaluation isn't possible now.
   */
  async evaluate(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<Json[]> {
    const { values, problem } = await this.evaluateInTurn(names, input, body)
    if (problem !== null) throw new PermanentError(problem)
    return values
  }

  /**
   * Like `evaluate`, but a failed expression doesn't throw: the result has the values before the failure. A timeout or
   * lack of memory still throws, because no value is known then.
   */
  async evaluateInTurn(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<TemplateAnswer> {
    if (this.#isClosed) throw new TransientError(CLOSED)
    const expressions = names.map((name) => [name, this.#texts.get(name) ?? 'null'] as const)
    const { values, problem } = await templatePool.evaluate(this, { expressions, input: jsonOf(names, input), body }, this.#deadlineMs)
    return { values: values.map((text) => JSON.parse(text) as Json), problem }
  }

  /** Fails waiting and later jobs with a TransientError. */
  close(): void {
    this.#isClosed = true
    templatePool.cancel(this, CLOSED)
  }
}

/** @throws PermanentError if the input can't be written as JSON, for example because of deep nesting. */
function jsonOf(names: readonly string[], input: TemplateInput): string {
  try {
    return JSON.stringify(input)
  } catch (error) {
    throw new PermanentError(`${names.join(', ')} cannot be evaluated: ${messageOf(error)}`)
  }
}
