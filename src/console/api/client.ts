import createClient from 'openapi-fetch'
import { noteAnswer, noteSilence } from './connection.ts'
import type { components, paths } from './schema.d.ts'

export type Schemas = components['schemas']
export type Role = Schemas['Session']['role']

/** The program's own routes, with the types of its description of them. */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: (request) => answerTo(request) })

/** A route refused a request, or did not answer. */
export class Refusal extends Error {
  /** null when there was no answer. */
  readonly status: number | null
  readonly problems: readonly string[]

  constructor(status: number | null, sentence: string, problems: readonly string[] = []) {
    super(sentence)
    this.status = status
    this.problems = problems
  }
}

export interface Called<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** @returns what a route answered. @throws Refusal when it refused. */
export async function answered<T>(call: Promise<Called<T>>): Promise<T> {
  const { data, error, response } = await call
  if (!response.ok) throw refusalOf(response.status, error)
  return data as T
}

/** Makes a request that a route itself described, such as the one that mends a matter. */
export async function send(method: string, path: string, body: unknown): Promise<unknown> {
  const json = body === null || body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await answerTo(new Request(new URL(path, location.origin), { method, ...json }))
  const text = await response.text()
  const answer: unknown = text === '' ? null : JSON.parse(text)
  if (!response.ok) throw refusalOf(response.status, answer)
  return answer
}

async function answerTo(request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    noteAnswer(response.status)
    return response
  } catch (error) {
    if (request.signal.aborted) throw error
    noteSilence()
    throw new Refusal(null, 'The program did not answer. What it has stored is safe; this page tries again.')
  }
}

function refusalOf(status: number, error: unknown): Refusal {
  const { detail, problems = [] } = (typeof error === 'object' && error !== null ? error : {}) as Partial<Schemas['Problem']>
  return new Refusal(status, detail ?? `The program answered ${status}.`, problems)
}

/** @returns why something failed, in words. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
