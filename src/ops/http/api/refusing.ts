import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BusyError, messageOf, TransientError, UsageError } from '../../../base/errors.ts'
import { StorageUnavailable } from '../../../documents/storage/storage.ts'
import { Refusal, type RefusalFacts } from '../../output/refusals.ts'
import { firstProblems } from '../../output/text.ts'
import type { Problem } from './answers.ts'
import type { AdminParts } from './parts.ts'

const RETRY_AFTER_S = 5
const PROBLEM_TYPE = 'application/problem+json'

/** Answers with an error body that contains the problems, one sentence each. */
export function refuse(reply: FastifyReply, status: number, problems: readonly string[], facts: RefusalFacts = {}): FastifyReply {
  // Send text. For an object, Fastify would apply the schema of the route.
  return reply
    .code(status)
    .type(PROBLEM_TYPE)
    .send(problemText(status, problems, facts))
}

const unreadable: Readonly<Record<string, readonly [status: number, sentence: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
  HPE_HEADER_OVERFLOW: [431, 'the path and the headers are too long'],
}

/** Answers a request that is not valid HTTP, and closes the connection. @param code Node's error code. */
export function refuseUnreadable(socket: Socket, code: string): void {
  const [status, sentence] = unreadable[code] ?? [400, 'the request is not HTTP']
  const body = problemText(status, [sentence])
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, `content-type: ${PROBLEM_TYPE}`, `content-length: ${body.length}`]
  if (socket.writable) socket.end([...head, 'connection: close', '', body].join('\r\n'))
}

function problemText(status: number, problems: readonly string[], facts: RefusalFacts = {}): string {
  const [first = ''] = problems
  const several = problems.length > 1
  const body: Problem = {
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: several ? `${problems.length} problems; see problems` : first,
    ...(several && { problems: firstProblems(problems) }),
    ...facts,
  }
  return JSON.stringify(body)
}

/**
 * Answers a request whose route failed. Logs an unexpected error without sending its text.
 * If `error` is the abort reason of `signal`, the process is stopping, and the answer is 503.
 */
export function refuseError(
  p: Pick<AdminParts, 'log' | 'signal'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { log, signal } = p
  if (error instanceof Refusal) {
    if (error.status === 503) reply.header('retry-after', RETRY_AFTER_S)
    return refuse(reply, error.status, error.problems, error.facts)
  }
  if (error instanceof UsageError) return refuse(reply, 400, error.problems)
  if (error instanceof BusyError) return refuse(reply, 409, [messageOf(error)])
  if (error instanceof StorageUnavailable) return refuse(reply.header('retry-after', RETRY_AFTER_S), 503, [messageOf(error)])
  if (error instanceof TransientError) {
    log.warn({ route: routeOf(request) }, `admin request ${routeOf(request)} answered 503 because the database failed: ${messageOf(error)}`)
    return refuse(reply.header('retry-after', RETRY_AFTER_S), 503, ['the database is unavailable. Try again'])
  }
  if (signal.aborted && error === signal.reason) {
    return refuse(reply.header('retry-after', RETRY_AFTER_S), 503, ['the process is stopping; completed steps are kept'])
  }
  const status = statusOfFastify(error)
  if (status !== null) return refuse(reply, status, [sentenceOf(status, request) ?? messageOf(error)])
  log.error({ err: error, route: routeOf(request) }, `admin request ${routeOf(request)} failed unexpectedly: ${messageOf(error)}`)
  return refuse(reply, 500, ['internal error. See the log'])
}

/** @returns the 4xx status of Fastify's own errors, such as 413 for a body that is too large; null for other errors. */
function statusOfFastify(error: unknown): number | null {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return null
  return error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : null
}

function sentenceOf(status: number, { routeOptions }: FastifyRequest): string | null {
  const [type = 'application/json'] = routeOptions.schema?.consumes ?? []
  const sentences: Readonly<Record<number, string>> = {
    400: 'the body is not JSON',
    413: 'the body is too large. Send it in parts',
    415: `unsupported content type. Send ${type}`,
  }
  return sentences[status] ?? null
}

/** @returns the method and the pattern of the route, without parameter values. */
export function routeOf(request: FastifyRequest): string {
  return `${request.method} ${request.routeOptions.url ?? 'unknown'}`
}
