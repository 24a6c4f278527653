import { PermanentError } from '../../base/errors.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * Every request sent to the service: reads, the token exchange, and GET of configured paths. None writes or is metered, so a read-only key
 * is enough (traps 44, 55).
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
  /** Without an id, the document's own path. */
  document: { method: 'GET', path: '/broker/finalized-documents/{id}/pdf' },
  probe: { method: 'GET', path: '' },
} as const

export type Operation = keyof typeof operations

/** A request's subject, for messages, metrics and classification. */
export interface Call {
  readonly operation: Operation
  readonly submissionId: string | null
  /** For a read by id. */
  readonly ownId?: string
  /** Whether the request has a cursor (trap 17). */
  readonly withCursor: boolean
}

/** @returns the path of a call, relative to the base URL, with lower-case UUIDs. */
export function pathOf({ operation, submissionId, ownId }: Call): string {
  return operations[operation].path.replace('{submission_id}', submissionId ?? '').replace('{id}', ownId ?? '')
}

/** @returns method and path without ids: `GET …/events`, `GET /broker/me`. */
export function routeOf(operation: Operation): string {
  const { method, path } = operations[operation]
  return `${method} ${path.replace(/^.*\/\{submission_id\}/, '…') || 'of a path from the settings'}`
}

/**
 * @returns the id in lower case.
 * @throws PermanentError unless it is a UUID: nothing else enters a path (trap 78).
 */
export function submissionIdOf(value: string): string {
  return pathIdOf(value, 'submission')
}

/** `submissionIdOf` for another id. @param what for the message. */
export function pathIdOf(value: string, what: string): string {
  const id = parseUuid(value)
  if (id === null) throw new PermanentError(`not a ${what} id (a uuid): ${JSON.stringify(value.slice(0, 60))}`)
  return id
}
