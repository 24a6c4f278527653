import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerBody } from './answer-body.ts'
import type { Expression } from './expressions.ts'
import { templatePool } from './template-pool.ts'

/** The `$` of expressions. */
export type TemplateInput = { readonly [name: string]: Json }

/** Values in the order of the names up to the first failure, and the failure's text. */
export interface TemplateAnswer {
  readonly values: Json[]
  readonly problem: string | null
}

/** Time limit for all expressions of one job. One change takes microseconds; a second leaves room for a very busy machine. */
const DEADLINE_MS = 1_000
const CLOSED = 'the destination is being closed'

export class Templates {
  readonly #texts: ReadonlyMap<string, string>
  readonly #deadlineMs: number
  #isClosed = false

  /** @param expressions checked by `checkTemplates`. */
  constructor(expressions: readonly Expression[], deadlineMs = DEADLINE_MS) {
    this.#texts = new Map(expressions.map(({ name, text }) => [name, text]))
    this.#deadlineMs = deadlineMs
  }

  /**
   * @param input the `$` of expressions. @param body the `body` of expressions. @returns the values in order; null for nothing. @throws
   * PermanentError if an expression fails, takes too much time or memory, or the input can't be read; TransientError if evaluation isn't
   * possible now.
   */
  async evaluate(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<Json[]> {
    const { values, problem } = await this.evaluateInTurn(names, input, body)
    if (problem !== null) throw new PermanentError(problem)
    return values
  }

  /**
   * Like `evaluate`, but also returns the values before the first failed expression. Throws after a timeout or lack of memory, because no
   * value is known then.
   */
  async evaluateInTurn(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<TemplateAnswer> {
    if (this.#isClosed) throw new TransientError(CLOSED)
    const expressions = names.map((name) => [name, this.#texts.get(name) ?? 'null'] as const)
    const { values, problem } = await templatePool.evaluate(this, { expressions, input: jsonOf(names, input), body }, this.#deadlineMs)
    return { values: values.map((text) => JSON.parse(text) as Json), problem }
  }

  /** Fails pending jobs. */
  close(): void {
    this.#isClosed = true
    templatePool.cancel(this, CLOSED)
  }
}

/** @throws PermanentError, for example if the input is nested too deeply. */
function jsonOf(names: readonly string[], input: TemplateInput): string {
  try {
    return JSON.stringify(input)
  } catch (error) {
    throw new PermanentError(`${names.join(', ')} cannot be evaluated: ${messageOf(error)}`)
  }
}
