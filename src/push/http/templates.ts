import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerBody } from './answer-body.ts'
import type { Expression } from './expressions.ts'
import { templatePool } from './template-pool.ts'

/** The input that expressions see as `$`. */
export type TemplateInput = { readonly [name: string]: Json }

/** The values in the order of the names, up to the first that failed, and why it failed. */
export interface TemplateAnswer {
  readonly values: Json[]
  readonly problem: string | null
}

/** Longest time for all expressions of one job. One change takes microseconds; a second leaves room for a very busy machine. */
const DEADLINE_MS = 1_000
const CLOSED = 'the destination is being closed'

/** Evaluates the JSONata of one destination. */
export class Templates {
  readonly #texts: ReadonlyMap<string, string>
  readonly #deadlineMs: number
  #isClosed = false

  /** @param expressions which `checkTemplates` found valid. */
  constructor(expressions: readonly Expression[], deadlineMs = DEADLINE_MS) {
    this.#texts = new Map(expressions.map(({ name, text }) => [name, text]))
    this.#deadlineMs = deadlineMs
  }

  /**
   * Evaluates the expressions of these names.
   * @param input what they see as `$`.
   * @param body what they see as `body`.
   * @returns their values in this order; null for nothing.
   * @throws PermanentError when an expression fails, or takes too long or too much memory, or when the body or input cannot be read.
   * @throws TransientError when they cannot be evaluated now.
   */
  async evaluate(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<Json[]> {
    const { values, problem } = await this.evaluateInTurn(names, input, body)
    if (problem !== null) throw new PermanentError(problem)
    return values
  }

  /**
   * The same, one after the other up to the first that fails.
   * @returns the values of those before it, and why it failed.
   * @throws PermanentError when an expression takes too long or too much memory: then no value is known.
   * @throws TransientError when they cannot be evaluated now.
   */
  async evaluateInTurn(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<TemplateAnswer> {
    if (this.#isClosed) throw new TransientError(CLOSED)
    const expressions = names.map((name) => [name, this.#texts.get(name) ?? 'null'] as const)
    const { values, problem } = await templatePool.evaluate(this, { expressions, input: jsonOf(names, input), body }, this.#deadlineMs)
    return { values: values.map((text) => JSON.parse(text) as Json), problem }
  }

  /** Ends its jobs, which fail. */
  close(): void {
    this.#isClosed = true
    templatePool.cancel(this, CLOSED)
  }
}

/** @throws PermanentError for an input that is nested too deeply, for instance. */
function jsonOf(names: readonly string[], input: TemplateInput): string {
  try {
    return JSON.stringify(input)
  } catch (error) {
    throw new PermanentError(`${names.join(', ')} cannot be evaluated: ${messageOf(error)}`)
  }
}
