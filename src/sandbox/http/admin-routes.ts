import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Refusal } from '../service/refusal.ts'
import type { Sandbox } from '../service/sandbox.ts'
import type { Unshown } from '../service/unshown.ts'
import { type Answer, errorAnswer, refusalAnswer, send } from './answers.ts'

/** A route's `act` returns this to set the status and headers as well as the body. */
export class WholeAnswer {
  readonly answer: Answer

  constructor(answer: Answer) {
    this.answer = answer
  }
}

/**
 * Adds a route. `act` returns the body of the answer. If `act` throws a RangeError or a ZodError, the answer is 400. If
 * `act` throws a Refusal, the answer has the status of the refusal.
 */
export type AdminRoutes = (
  method: 'GET' | 'POST' | 'DELETE',
  url: string,
  act: (sandbox: Sandbox, request: FastifyRequest) => unknown,
) => void

/** @param sandbox returns undefined during startup. All routes then answer 503. */
export function adminRoutes(app: FastifyInstance, sandbox: () => Sandbox | undefined, unshown: Unshown): AdminRoutes {
  return (method, url, act) => {
    app.route({ method, url, handler: (request, reply) => answer(reply, sandbox(), unshown, (running) => act(running, request)) })
  }
}

async function answer(
  reply: FastifyReply,
  sandbox: Sandbox | undefined,
  unshown: Unshown,
  act: (sandbox: Sandbox) => unknown,
): Promise<FastifyReply> {
  if (!sandbox) return send(reply, errorAnswer(503, 'The sandbox is starting'))
  try {
    const body = await act(sandbox)
    return send(reply, body instanceof WholeAnswer ? body.answer : { status: 200, body })
  } catch (error) {
    if (error instanceof z.ZodError) return send(reply, errorAnswer(400, error.issues))
    if (error instanceof Refusal) return send(reply, refusalAnswer(error, unshown))
    if (error instanceof RangeError) return send(reply, errorAnswer(400, error.message))
    throw error
  }
}
