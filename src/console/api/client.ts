import createClient from 'openapi-fetch'
import { recordAnswer, recordNoAnswer } from './connection.ts'
import type { components, paths } from './schema.d.ts'

export type Schemas = components['schemas']
export type Role = Schemas['Session']['role']

/** Client of the program's HTTP API. Its types come from the OpenAPI document. */
export const api = createClient<paths>({ baseUrl: location.origin, fetch: (request) => fetchAnswer(request) })

/** A failed request. `status` is null if no answer arrived. */
export class ApiError extends Error {
  readonly status: number | null

  constructor(status: number | null, message: string) {
    super(message)
    this.status = status
  }
}

export interface ApiResponse<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/**
 * @returns the body of the answer.
 * @throws ApiError if the status isn't a success.
 */
export async function unwrap<T>(call: Promise<ApiResponse<T>>): Promise<T> {
  const { data, error, response } = await call
  if (!response.ok) throw errorOf(response.status, error)
  return data as T
}

/**
 * Sends a request whose method and path came from an earlier answer, such as the fix of an issue.
 * @returns the parsed body; null if the body is empty.
 * @throws ApiError if the status isn't a success.
 */
export async function send(method: string, path: string, body: unknown): Promise<unknown> {
  const json = body === null || body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetchAnswer(new Request(new URL(path, location.origin), { method, ...json }))
  const text = await response.text()
  const answer: unknown = text === '' ? null : JSON.parse(text)
  if (!response.ok) throw errorOf(response.status, answer)
  return answer
}

async function fetchAnswer(request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    recordAnswer(response.status)
    return response
  } catch (error) {
    if (request.signal.aborted) throw error
    recordNoAnswer()
    throw new ApiError(null, 'submission-mirror did not answer. Stored data is safe. This page tries again automatically.')
  }
}

function errorOf(status: number, error: unknown): ApiError {
  const { detail } = (typeof error === 'object' && error !== null ? error : {}) as Partial<Schemas['Problem']>
  return new ApiError(status, detail ?? `submission-mirror answered with status ${status}. Check its log.`)
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
