import { PermanentError } from '../../base/errors.ts'
import { parseUuid } from '../../model/uuid.ts'

/**
 * Everything that is ever asked of the service: four reads, the exchange of credentials for a token, and a GET of those paths
 * that an operator has named to be probed. There is no operation that writes and none that is metered, so a read-only key is
 * enough (traps 44, 55).
 */
export const operations = {
  token: { method: 'POST', path: '/oauth/token' },
  me: { method: 'GET', path: '/broker/me' },
  events: { method: 'GET', path: '/broker/submissions/{submission_id}/events' },
  thread: { method: 'GET', path: '/broker/submissions/{submission_id}/thread' },
  requirements: { method: 'GET', path: '/broker/submissions/{submission_id}/requirements' },
  /** Its path is whatever the settings name. */
  probe: { method: 'GET', path: '' },
} as const

export type Operation = keyof typeof operations

/** What a request is about, for messages, metrics and the judging of its answer. */
export interface Call {
  readonly operation: Operation
  readonly submissionId: string | null
  /** Whether the request bears a cursor, which the service may have found invalid (trap 17). */
  readonly withCursor: boolean
}

/** @returns the operation's path, relative to the base URL. @param submissionId a uuid in lower case. */
export function pathOf(operation: Operation, submissionId: string | null): string {
  return operations[operation].path.replace('{submission_id}', submissionId ?? '')
}

/**
 * @returns the id in lower case.
 * @throws PermanentError when it is no uuid: nothing else ever enters a path (trap 78).
 */
export function submissionIdOf(value: string): string {
  const id = parseUuid(value)
  if (id === null) throw new PermanentError(`no submission id (a uuid): ${JSON.stringify(value.slice(0, 60))}`)
  return id
}
