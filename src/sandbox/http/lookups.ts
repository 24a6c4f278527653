import type { FastifyInstance } from 'fastify'
import { appetiteQuery, appetiteResult, appetiteSearch, appetiteSearchBody, countQuestion } from '../service/appetite.ts'
import { searchForms } from '../service/forms.ts'
import { parseBody } from '../service/parse.ts'
import type { Caller } from '../service/tokens.ts'
import type { World } from '../world/world.ts'
import { jsonOf } from './body.ts'
import type { Handle, HandleOptions } from './handle.ts'

export interface LookupOptions extends HandleOptions {
  readonly world: World
}

/** What is searched beyond submissions: forms, and which markets have appetite. The search of markets is a read, though it is posted. */
export function registerLookups(app: FastifyInstance, { clock, unshown, world }: LookupOptions, handle: Handle): void {
  const count = ({ account }: Caller) => countQuestion(world.recordsOf(account.name), unshown, clock.now())
  app.get<{ Querystring: Record<string, string | string[]> }>('/broker/forms', (request, reply) =>
    handle('forms', request, reply, undefined, () => {
      const { q = '' } = request.query
      return { status: 200, body: searchForms(Array.isArray(q) ? (q[0] ?? '') : q) }
    }),
  )
  app.get('/broker/appetite', (request, reply) =>
    handle('appetite', request, reply, undefined, (caller) => {
      const query = parseBody(appetiteQuery, request.query, 'query')
      count(caller)
      return { status: 200, body: appetiteResult(query) }
    }),
  )
  app.post('/broker/appetite/search', (request, reply) =>
    handle('appetite', request, reply, undefined, (caller) => {
      const body = parseBody(appetiteSearchBody, jsonOf(request))
      count(caller)
      return { status: 200, body: appetiteSearch(body) }
    }),
  )
}
