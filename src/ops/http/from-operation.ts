import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { together } from '../../base/together.ts'
import { attemptsOf, notePageShown, noteShowing } from '../actions/context.ts'
import { isDocument } from '../operations/from-text.ts'
import { masked } from '../operations/hidden.ts'
import { showFix } from '../operations/index.ts'
import { type AnyOperation, type OperationContext, unattended } from '../operations/operation.ts'
import { answersAbout, answersOfAction, answersSince } from './api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from './api/parts.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Role that the route requires. */
    readonly role?: AnyOperation['role']
  }
}

export const DOCUMENT_LIMIT_BYTES = 8 * 1024 * 1024

export function addOperation(api: Api, p: AdminParts, op: AnyOperation): void {
  const [method = '', url = ''] = op.http.split(' ')
  const inPath = new Set([...url.matchAll(/:(\w+)/g)].map(([, field = '']) => field))
  const isRead = method === 'GET'
  const shared = together(() => op.run(contextOf(p, { who: '', holder: null, isStillAllowed: async () => true }), {}))
  const checks = (op.input.def.checks ?? []) as z.core.$ZodCheck<Record<string, unknown>>[]
  const rest = inPath.size === 0 ? op.input : partOf(op.input, (field) => !inPath.has(field)).check(...checks)
  // If an empty input is valid, a request may omit the body.
  const withoutBody = rest.safeParse({})
  api.route({
    method,
    url,
    ...(Object.values(op.input.shape).some(isDocument) && { bodyLimit: DOCUMENT_LIMIT_BYTES }),
    config: { role: op.role },
    ...(op.maxBytes !== undefined && { bodyLimit: op.maxBytes }),
    schema: {
      summary: op.summary,
      ...(op.description !== undefined && { description: op.description }),
      tags: [op.name.split('.')[0] ?? ''],
      ...(inPath.size > 0 && { params: partOf(op.input, (field) => inPath.has(field)) }),
      ...(inPath.size < Object.keys(op.input.shape).length && {
        [isRead ? 'querystring' : 'body']: isRead || !withoutBody.success ? rest : rest.nullish(),
      }),
      response: (op.isFollowed ? answersSince : isRead ? answersAbout : answersOfAction)(op.summary, op.output),
    },
    handler: async (request, reply) => {
      const { params, query, body } = request
      const input = { ...withoutBody.data, ...(params as object), ...(query as object), ...(body as object | undefined) }
      const context = { ...contextOf(p, request), left: leavingOf(reply) }
      const output = op.isShared ? await shared() : await op.run(context, input)
      const showing = op.shows?.(output, input) ?? null
      if (showing === null) return masked(op.output, output)
      const { action = op.name, target, detail } = showing
      await (op.isFollowed ? notePageShown : noteShowing)(context, action, target, detail)
      return output
    },
  })
}

/** @returns the context of an operation for a request. */
export function contextOf(p: AdminParts, request: Pick<FastifyRequest, 'who' | 'holder' | 'isStillAllowed'>): OperationContext {
  const { log, version, sums, reload } = p
  const { holder, isStillAllowed } = request
  const context = actionContextFor(p, request)
  const here = { config: p.config(), role: holder?.role ?? 'viewer', nameOf: (field: string) => field, showFix, isStillAllowed }
  return { ...context, ...unattended, ...here, attempt: attemptsOf(context), log, version, sums, reload }
}

/** @returns a signal that aborts when the connection closes. */
export function leavingOf({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const leaving = new AbortController()
  raw.once('close', () => leaving.abort())
  return leaving.signal
}

function partOf(input: z.ZodObject, isPart: (field: string) => boolean): z.ZodObject {
  return z.strictObject(Object.fromEntries(Object.entries(input.shape).filter(([field]) => isPart(field))))
}
