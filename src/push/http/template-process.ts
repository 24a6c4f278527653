import jsonata from 'jsonata'
import { guard } from '../../base/guarded-process.ts'
import type { Json } from '../../model/json.ts'
import { bodyValue, MAX_LEVELS, MAX_VALUES } from './answer-body.ts'
import { surveyJson } from './json-survey.ts'
import { noteOf } from './note.ts'
import type { TemplateJob, TemplateResult } from './template-pool.ts'
import { problemOf } from './template-problem.ts'
import { urlOf } from './url.ts'

/*
 * The child process of template-pool.ts. Evaluates one job at a time. An expression sees only its input, and no
 * environment variables. The parent kills this process if a job takes too long.
 */

/** Limits of the call stack's depth and of a list's length. */
const BOUNDS = { stack: 1_000, sequence: 100_000 }
const MOST_COMPILED = 500
/** Longest value as text, in characters. A request body has the same limit in bytes. */
const MOST_CHARACTERS = 8 * 1024 * 1024

const compiled = new Map<string, jsonata.Expression>()

guard()
// Ctrl+C, a closed terminal, and systemd also signal this process. The signals are ignored, because the parent decides
// when this process ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

process.on('message', (job: TemplateJob) => {
  void answer(job)
    .catch((error: unknown): TemplateResult => ({ values: [], problem: problemOf(error) }))
    .then((result) => process.send?.(result))
})
process.send?.('ready')

/**
 * Evaluates a job.
 * @throws Error if the job's `body` can't be read.
 */
async function answer({ expressions, input, body }: TemplateJob): Promise<TemplateResult> {
  const parsed = JSON.parse(input) as Record<string, Json>
  const seen = body === null ? parsed : { ...parsed, body: bodyValue(body) }
  const values: string[] = []
  for (const [name, text] of expressions) {
    try {
      values.push(jsonOf(await compile(text).evaluate(seen)))
    } catch (error) {
      return { values, problem: `${name} failed: ${problemOf(error)}` }
    }
  }
  return { values, problem: null }
}

function compile(text: string): jsonata.Expression {
  const known = compiled.get(text)
  if (known !== undefined) return known
  const expression = jsonata(text, BOUNDS)
  expression.registerFunction('url', (...parts: readonly unknown[]) => urlOf(parts[0], ...parts.slice(1)))
  expression.registerFunction('note', (change: unknown, most?: unknown) => noteOf(change, most))
  if (compiled.size >= MOST_COMPILED) compiled.clear()
  compiled.set(text, expression)
  return expression
}

/**
 * @returns a value as JSON text. Functions, and an expression without a value, become null. The size is limited,
 * because the parent parses the text.
 */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => (isFunction(part) ? null : part)) as string | undefined
  if (text === undefined) return 'null'
  if (text.length > MOST_CHARACTERS) throw new Error(`the result is longer than ${MOST_CHARACTERS} characters`)
  const { levels, values } = surveyJson(text)
  if (levels > MAX_LEVELS) throw new Error(`the result is nested deeper than ${MAX_LEVELS} levels`)
  if (values > MAX_VALUES) throw new Error(`the result contains more than ${MAX_VALUES} values`)
  return text
}

/** JSONata represents functions as objects with one of these properties. */
function isFunction(part: unknown): boolean {
  return typeof part === 'object' && part !== null && ('_jsonata_function' in part || '_jsonata_lambda' in part)
}
