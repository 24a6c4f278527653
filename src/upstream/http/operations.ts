import { PermanentError } from '../../base/errors.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * Every request sent to the service: reads, the token exchange, and GET of paths from the settings. These requests
 * change nothing, so a read-only key is enough (trap 44). No request counts against a daily limit (trap 55).
 */
export const operations = {
  token: { method: 'POST', path: '/oauth/token' },
  me: { method: 'GET', path: '/broker/me' },
  events: { method: 'GET', path: '/broker/submissions/{submission_id}/events' },
  thread: { method: 'GET', path: '/broker/submissions/{submission_id}/thread' },
  requirements: { method: 'GET', path: '/broker/submissions/{submission_id}/requirements' },
  outstanding: { method: 'GET', path: '/broker/submissions/{submission_id}/outstanding-requirements' },
  workspace: { method: 'GET', path: '/broker/submissions/{submission_id}/application-workspace' },
  sessions: { method: 'GET', path: '/broker/submissions/{submission_id}/api-quotes/sessions' },
  bind_request: { method: 'GET', path: '/broker/submissions/{submission_id}/bind-requests/{id}' },
  policy: { method: 'GET', path: '/broker/policies/{id}' },
  insured: { method: 'GET', path: '/broker/insureds/{id}' },
  /** If the document has no id, `Parts.path` replaces this path. */
  document: { method: 'GET', path: '/broker/finalized-documents/{id}/pdf' },
  probe: { method: 'GET', path: '' },
} as const

export type Operation = keyof typeof operations

/** What a request is about, for error texts, metrics, and classification. */
export interface Call {
  readonly operation: Operation
  readonly submissionId: string | null
  /** The record's id, for a read by id. */
  readonly ownId?: string
  /** Whether the request has a cursor (trap 17). */
  readonly withCursor: boolean
}

/** @returns the path of a call, relative to the base URL. */
export function pathOf({ operation, submissionId, ownId }: Call): string {
  return operations[operation].path.replace('{submission_id}', submissionId ?? '').replace('{id}', ownId ?? '')
}

/** @returns the method and the path without ids, such as `GET …/events` or `GET /broker/me`. */
export function routeOf(operation: Operation): string {
  const { method, path } = operations[operation]
  return `${method} ${path.replace(/^.*\/\{submission_id\}/, '…') || 'of a path from the settings'}`
}

/**
 * @returns the id in lower case.
 * @throws PermanentError if the value isn't a UUID. Other values are never put into a path (trap 78).
 */
export function submissionIdOf(value: string): string {
  return pathIdOf(value, 'submission')
}

/**
 * Like `submissionIdOf`, for another kind of id.
 * @param what name of the kind, for the error text.
 */
export function pathIdOf(value: string, what: string): string {
  const id = parseUuid(value)
  if (id === null) throw new PermanentError(`not a ${what} id (a uuid): ${JSON.stringify(value.slice(0, 60))}`)
  return id
}
