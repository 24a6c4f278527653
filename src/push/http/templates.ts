import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerBody } from './answer-body.ts'
import type { Expression } from './expressions.ts'
import { templatePool } from './template-pool.ts'

/** The `$` of expressions. */
export type TemplateInput = { readonly [name: string]: Json }

/** The values in the order of the names, up to the first failure, and the failure. */
export interface TemplateAnswer {
  readonly values: Json[]
  readonly problem: string | null
}

/** Longest time for all expressions of one job. One change takes microseconds; a second leaves room for a very busy machine. */
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
   * @param input the `$` of expressions. @param body their `body`. @returns the values of these expressions in order; null for nothing.
   * @throws PermanentError if an expression fails or takes too long or too much memory, or if the input can't be read; TransientError if
   * they can't be evaluated now.
   */
  async evaluate(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<Json[]> {
    const { values, problem } = await this.evaluateInTurn(names, input, body)
    if (problem !== null) throw new PermanentError(problem)
    return values
  }

  /**
   * Like `evaluate`, but returns the values before the first failed expression, and the failure. After a timeout or a lack of memory no
   * value is known, and it throws.
   */
  async evaluateInTurn(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<TemplateAnswer> {
    if (this.#isClosed) throw new TransientError(CLOSED)
    const expressions = names.map((name) => [name, this.#texts.get(name) ?? 'null'] as const)
    const { values, problem } = await templatePool.evaluate(this, { expressions, input: jsonOf(names, input), body }, this.#deadlineMs)
    return { values: values.map((text) => JSON.parse(text) as Json), problem }
  }

  /** Fails its jobs. */
  close(): void {
    this.#isClosed = true
    templatePool.cancel(this, CLOSED)
  }
}

/** @throws PermanentError if the input is nested too deeply, for instance. */
function jsonOf(names: readonly string[], input: TemplateInput): string {
  try {
    return JSON.stringify(input)
  } catch (error) {
    throw new PermanentError(`${names.join(', ')} cannot be evaluated: ${messageOf(error)}`)
  }
}
