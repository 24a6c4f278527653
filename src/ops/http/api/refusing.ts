import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BusyError, messageOf, TransientError, UsageError } from '../../../base/errors.ts'
import { StorageUnavailable } from '../../../documents/storage/errors.ts'
import { Refusal, type RefusalFacts } from '../../output/refusals.ts'
import { firstProblems } from '../../output/text.ts'
import type { Problem } from './answers.ts'
import type { AdminParts } from './parts.ts'

const RETRY_AFTER_S = 5
const PROBLEM_TYPE = 'application/problem+json'

/** Answers with a problem. @param problems everything that is wrong, a sentence each. */
export function refuse(reply: FastifyReply, status: number, problems: readonly string[], facts: RefusalFacts = {}): FastifyReply {
  // As text: the route's schema must not serialize it.
  return reply
    .code(status)
    .type(PROBLEM_TYPE)
    .send(problemText(status, problems, facts))
}

const unreadable: Readonly<Record<string, readonly [status: number, sentence: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request did not arrive in time'],
  HPE_HEADER_OVERFLOW: [431, 'the path and the headers are too long'],
}

/** Answers a connection whose request could not be read, and ends it. @param code Node's, of what is wrong. */
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
    detail: several ? `${problems.length} things are wrong; see problems` : first,
    ...(several && { problems: firstProblems(problems) }),
    ...facts,
  }
  return JSON.stringify(body)
}

/**
 * Answers for an error that a route threw. Only unexpected errors are logged as errors; their text is not sent.
 * @param p the log, and the signal of the process: an action that it interrupts throws its reason.
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
  // Its sentence says what to do.
  if (error instanceof StorageUnavailable) return refuse(reply.header('retry-after', RETRY_AFTER_S), 503, [messageOf(error)])
  if (error instanceof TransientError) {
    log.warn({ route: routeOf(request) }, `admin request ${routeOf(request)} answered 503, the database failed: ${messageOf(error)}`)
    return refuse(reply.header('retry-after', RETRY_AFTER_S), 503, ['the database cannot be used now; try again'])
  }
  if (signal.aborted && error === signal.reason) {
    return refuse(reply.header('retry-after', RETRY_AFTER_S), 503, ['the process is stopping; what was done until then stays'])
  }
  const status = statusOfFastify(error)
  if (status !== null) return refuse(reply, status, [sentenceOf(status, request) ?? messageOf(error)])
  log.error(
    { err: error, route: routeOf(request) },
    `admin request ${routeOf(request)} failed, a fault of the program: ${messageOf(error)}`,
  )
  return refuse(reply, 500, ['a fault of the program; its log says more'])
}

/** Fastify's own refusals have a status below 500: a body that is not JSON, too large, or of an unknown type. */
function statusOfFastify(error: unknown): number | null {
  if (!(error instanceof Error) || !('statusCode' in error) || typeof error.statusCode !== 'number') return null
  return error.statusCode >= 400 && error.statusCode < 500 ? error.statusCode : null
}

function sentenceOf(status: number, { routeOptions }: FastifyRequest): string | null {
  const [type = 'application/json'] = routeOptions.schema?.consumes ?? []
  const sentences: Readonly<Record<number, string>> = {
    400: 'the body is not JSON',
    413: 'the body is too large; send it in parts',
    415: `the content type is not read here; send ${type}`,
  }
  return sentences[status] ?? null
}

/** The route as described, without the values of its parameters. */
export function routeOf(request: FastifyRequest): string {
  return `${request.method} ${request.routeOptions.url ?? 'unknown'}`
}
