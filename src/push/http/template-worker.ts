import { parentPort } from 'node:worker_threads'
import jsonata from 'jsonata'
import type { Json } from '../../model/json.ts'
import { bodyValue, MAX_LEVELS } from './answer-body.ts'
import { surveyJson } from './json-survey.ts'
import { noteOf } from './note.ts'
import { problemOf } from './template-problem.ts'
import type { TemplateAnswer, TemplateJob, TemplateRequest } from './template-thread.ts'
import { urlOf } from './url.ts'

/**
 * The worker thread of template-thread.ts. It compiles the expressions of a destination once, reports that it is ready, and then answers one
 * job after another, until it is given those of another destination. An expression reaches nothing but its input, not even the environment. One that never ends is ended together with this thread.
 */

/**
 * Deepest call stack, and longest list. One huge allocation would end the whole process, whatever the limit of the thread; these bounds
 * keep an expression from getting there by mistake.
 */
const BOUNDS = { stack: 1_000, sequence: 100_000 }

const expressions = new Map<string, jsonata.Expression>()

parentPort?.on('message', (request: TemplateRequest) => {
  if ('expressions' in request) return compile(request.expressions)
  void answer(request)
    .then(post)
    .catch((error) => post({ values: [], problem: problemOf(error) }))
})

function compile(texts: Readonly<Record<string, string>>): void {
  expressions.clear()
  for (const [name, text] of Object.entries(texts)) {
    const expression = jsonata(text, BOUNDS)
    expression.registerFunction('url', (...parts: readonly unknown[]) => urlOf(parts[0], ...parts.slice(1)))
    expression.registerFunction('note', (change: unknown, most?: unknown) => noteOf(change, most))
    expressions.set(name, expression)
  }
  parentPort?.postMessage('ready')
}

function post(result: TemplateAnswer): void {
  parentPort?.postMessage(result)
}

/**
 * Ends at the first expression that fails.
 * @throws Error when the body of the job cannot be read.
 */
async function answer({ names, input, body }: TemplateJob): Promise<TemplateAnswer> {
  const seen = body === null ? input : { ...input, body: bodyValue(body) }
  const values: Json[] = []
  for (const name of names) {
    try {
      values.push(plain(await expressions.get(name)?.evaluate(seen)))
    } catch (error) {
      return { values, problem: `${name} failed: ${problemOf(error)}` }
    }
  }
  return { values, problem: null }
}

/** JSONata may yield nothing, or functions. Only JSON leaves the thread, and only as deep as can be passed on. */
function plain(value: unknown): Json {
  const text = JSON.stringify(value, (_, part: unknown) => (isFunction(part) ? null : part)) as string | undefined
  if (text === undefined) return null
  if (surveyJson(text).levels > MAX_LEVELS) throw new Error(`its value is nested deeper than ${MAX_LEVELS} levels`)
  return JSON.parse(text) as Json
}

/** JSONata's own functions are objects. */
function isFunction(part: unknown): boolean {
  return typeof part === 'object' && part !== null && ('_jsonata_function' in part || '_jsonata_lambda' in part)
}
