import type { FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../model/json.ts'
import { type ActivityLog, requestRecord } from '../service/activity-log.ts'
import type { Authority } from '../service/authority.ts'
import type { Operation } from '../service/faults.ts'
import { Refusal } from '../service/refusal.ts'
import type { Caller, Tokens } from '../service/tokens.ts'
import type { Unshown } from '../service/unshown.ts'
import { answerOf } from '../service/variants.ts'
import { type Answer, type AnswerSources, answer, type Compute, refusalAnswer, send, serviceTime } from './answers.ts'

export interface HandleOptions extends AnswerSources {
  readonly tokens: Tokens
  readonly activity: ActivityLog
  readonly authority: Authority
}

/** Identifies the caller, requires the scope, applies faults, then answers. `compute` may throw a Refusal. */
export type Handle = (
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  submissionId: string | undefined,
  compute: (caller: Caller) => Answer | Promise<Answer>,
) => Promise<FastifyReply>

/** @returns the handler of read operations. */
export function readHandler(options: HandleOptions): Handle {
  return async (operation, request, reply, submissionId, compute) => {
    const caller = options.tokens.callerOf(request.headers.authorization)
    options.activity.request(requestRecord(operation, request, caller?.account.name))
    return respond(options, { operation, caller, submissionId }, reply, async (known) => {
      options.authority.requireScope(known, 'broker_mcp')
      const answer = await compute(known)
      return answer.status === 200 ? { ...answer, body: answerOf(operation, answer.body, options.unshown) } : answer
    })
  }
}

/** @returns the handler of write operations. Each request is kept in `Sandbox.writesSeen`. */
export function writeHandler(options: HandleOptions): Handle {
  return async (operation, request, reply, submissionId, compute) => {
    const caller = options.tokens.callerOf(request.headers.authorization)
    const write = requestRecord(operation, request, caller?.account.name)
    options.activity.request(write)
    options.activity.writes.push(write)
    return respond(options, { operation, caller, submissionId }, reply, (known) => {
      options.authority.requireScope(known, 'broker_submit')
      return compute(known)
    })
  }
}

interface Respondent {
  readonly operation: Operation
  readonly caller: Caller | null
  readonly submissionId: string | undefined
}

function respond(
  options: HandleOptions,
  { operation, caller, submissionId }: Respondent,
  reply: FastifyReply,
  compute: (caller: Caller) => Answer | Promise<Answer>,
): FastifyReply | Promise<FastifyReply> {
  const context = { operation, account: caller?.account.name, submissionId }
  const isBeside = options.unshown.word('conflict_fields') === 'body'
  if (caller)
    return answer(reply, context, options, () => (isBeside ? besideDetail(() => compute(caller), options.unshown) : compute(caller)))
  serviceTime(reply, context, options)
  const refusal = new Refusal('missing_token', 'Invalid or expired token', { 'www-authenticate': 'Bearer' })
  return send(reply, refusalAnswer(refusal, options.unshown))
}

/** Lets the fields of a conflict stand in the body, but where the specification shows them in `detail`. */
async function besideDetail(compute: Compute, unshown: Unshown): Promise<Answer> {
  try {
    return await compute()
  } catch (error) {
    if (!(error instanceof Refusal) || error.condition === 'assumptions_unconfirmed' || !isObject(error.detail)) throw error
    const answer = refusalAnswer(error, unshown)
    const { message, ...fields } = error.detail
    if (answer.status !== 409) throw error
    return { ...answer, body: { detail: message, ...fields } }
  }
}
