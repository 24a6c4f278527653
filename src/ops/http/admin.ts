import type { IncomingMessage, ServerResponse } from 'node:http'
import cookie from '@fastify/cookie'
import swagger from '@fastify/swagger'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { trustedProxies } from '../../receive/connections/trusted-proxies.ts'
import type { Db } from '../../store/engine/db.ts'
import { openReportReader } from '../../store/sqlite/report-reader.ts'
import { allOperations } from '../operations/index.ts'
import { LONGEST_ID, LONGEST_KEY } from '../operations/inputs.ts'
import { describeForms } from './api/answers.ts'
import { descriptionOptions } from './api/description.ts'
import { createGuard } from './api/guard.ts'
import type { AdminServerParts } from './api/parts.ts'
import { refuse, refuseError, routeOf } from './api/refusing.ts'
import { Sessions } from './api/sessions.ts'
import { refuseOtherQueries, validatorCompiler } from './api/validating.ts'
import { addMcp, MCP_ROUTE } from './mcp.ts'
import { addRoutes } from './routes.ts'

export interface AdminApi {
  /** Answers a request. The caller must leave the request's body unread. */
  answer(request: IncomingMessage, response: ServerResponse): void
  close(): Promise<void>
}

const BODY_LIMIT_BYTES = 65_536

/**
 * Creates the routes under `/api` and the route `/mcp`. Requests need one of OPS_TOKENS or a session.
 * `startOpsHttp` listens, and passes requests to these routes.
 */
export async function createAdmin(parts: AdminServerParts): Promise<AdminApi> {
  const sessions = new Sessions(parts.db, parts.config)
  const guarding = createGuard(parts, sessions)
  const app = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    trustProxy: trustedProxies(parts.config().receiver.trustProxy),
    routerOptions: { maxParamLength: LONGEST_KEY },
    // Fastify runs no hooks if the path is malformed or too long, so check the token here.
    frameworkErrors: async ({ code }, request, reply) => {
      const refused = await guarding(request, reply).catch((error: unknown) => refuseError(parts, error, request, reply))
      if (refused !== undefined) return
      if (code === 'FST_ERR_MAX_PARAM_LENGTH') refuse(reply, 414, [tooLong(LONGEST_KEY)])
      else refuse(reply, 400, ['the path is malformed: percent-encoded bytes must be UTF-8'])
    },
  })
  // On SQLite, run large reads in other threads, because deliveries arrive on this event loop.
  // Totals have their own reader, so that other reads don't wait for them.
  const [db, sums] = [1, 2].map(() => openReportReader(parts.db, parts.config().database)) as [Db, Db]
  app.addHook('onClose', () => Promise.all([db.close(), sums.close()]))
  const p = { ...parts, db, sums }
  app.decorateRequest('who', '')
  app.decorateRequest('holder', null)
  app.decorateRequest('isStillAllowed', async () => false)
  await app.register(cookie)
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  takeOnlyJson(app)
  app.setErrorHandler((error, request, reply) => refuseError(p, error, request, reply))
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, ['unknown route; GET /api/v1/openapi.json lists all routes']))
  app.addHook('onRequest', guarding)
  app.addHook('onRequest', refuseLongIds)
  app.addHook('onResponse', (request, reply, done) => {
    logAction(p, request, reply)
    done()
  })
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.role === undefined) throw new Error(`the route ${method} ${url} declares no role`)
  })
  const operations = await allOperations()
  await app.register(swagger, descriptionOptions(p.version))
  addMcp(app, p)
  await app.register(
    (scope, _options, done) => {
      scope.addHook('onRoute', refuseOtherQueries)
      scope.addHook('onRoute', describeForms)
      addRoutes(scope.withTypeProvider<ZodTypeProvider>(), p, sessions, operations)
      done()
    },
    { prefix: '/api/v1' },
  )
  await app.ready()
  return { answer: (request, response) => app.routing(request, response), close: () => app.close() }
}

/** Answers 414 if an id in the path is too long. The router's limit is higher, because a row key may be longer. */
async function refuseLongIds({ params }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> {
  const isLong = Object.entries(params as object).some(([name, value]) => name !== 'key' && String(value).length > LONGEST_ID)
  return isLong ? refuse(reply, 414, [tooLong(LONGEST_ID)]) : undefined
}

function tooLong(longest: number): string {
  return `a part of the path is longer than ${longest} characters`
}

/** Accepts only JSON bodies. A form on a foreign web page can't send JSON. */
function takeOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
}

/** Logs one line per request of a known caller, even if it is refused. Doesn't log GET, HEAD, and MCP requests. */
function logAction(p: AdminServerParts, request: FastifyRequest, reply: FastifyReply): void {
  if (request.who === '' || request.routeOptions.url === MCP_ROUTE || request.method === 'GET' || request.method === 'HEAD') return
  const { statusCode } = reply
  p.log.info(
    { who: request.who, route: routeOf(request), params: request.params, status: statusCode, ms: Math.round(reply.elapsedTime) },
    `admin: ${request.who} called ${routeOf(request)}, answered ${statusCode}`,
  )
}
