import type { FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../model/json.ts'
import { parseUuid } from '../../model/uuid.ts'
import { requestRecord } from '../service/activity-log.ts'
import type { Operation } from '../service/faults.ts'
import type { BuiltParts } from '../service/parts.ts'
import { invalid, Refusal } from '../service/refusal.ts'
import type { Caller } from '../service/tokens.ts'
import type { Unshown } from '../service/unshown.ts'
import { answerOf } from '../service/variants.ts'
import { type Answer, answer, type Compute, refusalAnswer, send, serviceTime } from './answers.ts'

type Handle = (
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  compute: (caller: Caller) => Answer | Promise<Answer>,
) => Promise<FastifyReply>

/** @returns the function that handles all operations except authentication. */
export function handler(parts: BuiltParts): Handle {
  const { activity, authority, tokens, unshown } = parts
  return async (operation, request, reply, compute) => {
    const caller = tokens.callerOf(request.headers.authorization)
    activity.request(requestRecord(operation, request, caller?.account.name))
    const { submission_id } = request.params as { readonly submission_id?: string }
    const context = { operation, account: caller?.account.name, submissionId: parseUuid(submission_id) ?? undefined }
    if (!caller) {
      serviceTime(reply, context, parts)
      const refusal = new Refusal('missing_token', 'Invalid or expired token', { 'www-authenticate': 'Bearer' })
      return send(reply, refusalAnswer(refusal, unshown))
    }
    const respond = async () => {
      authority.requireScope(caller, operation === 'write' ? 'broker_submit' : 'broker_mcp')
      const answer = await compute(caller)
      return answer.status === 200 ? { ...answer, body: answerOf(operation, answer.body, unshown) } : answer
    }
    const isInBody = unshown.word('conflict_fields') === 'body'
    return answer(reply, context, parts, isInBody ? () => moveFieldsOutOfDetail(respond, unshown) : respond)
  }
}

/**
 * Moves the fields of a 409 from `detail` to the top level of the body. Leaves `assumptions_unconfirmed` unchanged,
 * because the specification shows its fields in `detail`.
 */
async function moveFieldsOutOfDetail(compute: Compute, unshown: Unshown): Promise<Answer> {
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

/**
 * @returns the ids in the path by name, in lower case.
 * @throws Refusal if an id isn't a UUID.
 */
export function pathIds(request: FastifyRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(request.params as Readonly<Record<string, string>>).map(([name, text]) => {
      const id = parseUuid(text)
      if (id === null) throw invalid(['path', name], 'Input should be a valid UUID', 'uuid_parsing', 'invalid_id')
      return [name, id]
    }),
  )
}
