import type { FastifyInstance, FastifyRequest } from 'fastify'
import { parseUuid } from '../../model/uuid.ts'
import type { BuiltParts } from '../service/parts.ts'
import { Refusal } from '../service/refusal.ts'
import type { Caller } from '../service/tokens.ts'
import type { Submission } from '../world/submission.ts'
import type { Answer } from './answers.ts'
import { writeHandler } from './handle.ts'
import { pathIds } from './path-ids.ts'

/** A form with a file of 25 MB, and a little more, so that one that is too large is refused with a reason. */
const BODY_LIMIT_BYTES = 40 * 1024 * 1024

export interface WriteCall {
  readonly request: FastifyRequest
  readonly caller: Caller
  readonly account: string
  /** The ids of the path by their names. */
  readonly ids: Readonly<Record<string, string>>
  readonly atMs: number
}

export interface WriteRoutes {
  /** Adds a write operation. What `act` returns, or resolves to, is the body of a 200. */
  on(method: 'POST' | 'PUT', path: string, act: (call: WriteCall) => unknown): void
  /** The same for a path below a submission, which is answered 404 when the brokerage has none with that id. */
  onSubmission(method: 'POST' | 'PUT', path: string, act: (call: WriteCall, submission: Submission) => unknown): void
}

export function writeRoutes(app: FastifyInstance, parts: BuiltParts): WriteRoutes {
  const handle = writeHandler(parts)
  const on: WriteRoutes['on'] = (method, url, act) => {
    app.route<{ Params: Record<string, string> }>({
      method,
      url,
      bodyLimit: BODY_LIMIT_BYTES,
      handler: (request, reply) =>
        handle('write', request, reply, parseUuid(request.params['submission_id']) ?? undefined, async (caller): Promise<Answer> => {
          const ids = pathIds(request.params)
          return { status: 200, body: await act({ request, caller, account: caller.account.name, ids, atMs: parts.clock.now() }) }
        }),
    })
  }
  return {
    on,
    onSubmission: (method, path, act) =>
      on(method, `/broker/submissions/:submission_id/${path}`, (call) => {
        const submission = parts.world.submissions(call.account).get(call.ids['submission_id'] ?? '')
        if (!submission) throw new Refusal('not_found', 'Submission not found')
        return act(call, submission)
      }),
  }
}
