import type { IncomingMessage, ServerResponse } from 'node:http'
import swagger from '@fastify/swagger'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod'
import { includesRole } from '../../config/schema/roles.ts'
import { BadSignatures } from '../../receive/bad-signatures.ts'
import { openReportReader } from '../../store/sqlite/report-reader.ts'
import { descriptionOptions } from './api/description.ts'
import type { AdminParts } from './api/parts.ts'
import { refuse, refuseError, routeOf } from './api/refusing.ts'
import { roleNeeded } from './api/roles.ts'
import { LONGEST_ID } from './api/schemas.ts'
import { securityHeaders } from './api/security-headers.ts'
import { type Holder, TokenVerifier } from './api/tokens.ts'
import { refuseOtherQueries, validatorCompiler } from './api/validating.ts'
import { addRoutes } from './routes.ts'

/** What answers the admin routes. */
export interface AdminApi {
  /** Answers a request whose body was not read yet. */
  answer(request: IncomingMessage, response: ServerResponse): void
  close(): Promise<void>
}

const MINUTE_S = 60
const BODY_LIMIT_BYTES = 65_536

/**
 * Creates the routes under `/api`: what the commands can see and do, as JSON, for requests with one of OPS_TOKENS. Without any token every
 * route answers 404. It does not listen: requests are handed to it.
 */
export async function createAdmin(parts: AdminParts): Promise<AdminApi> {
  const guarding = guard(parts)
  const app = fastify({
    ...{ bodyLimit: BODY_LIMIT_BYTES, routerOptions: { maxParamLength: LONGEST_ID } },
    // Hooks do not run for a path that is too long or cannot be decoded, so the token is checked here.
    frameworkErrors: async ({ code }, request, reply) => {
      if ((await guarding(request, reply)) !== undefined) return
      if (code === 'FST_ERR_MAX_PARAM_LENGTH') refuse(reply, 414, [`a part of the path is longer than ${LONGEST_ID} characters`])
      else refuse(reply, 400, ['the path is not well encoded: what follows a % must be UTF-8'])
    },
  })
  // Large reads run elsewhere: deliveries arrive on this event loop.
  const db = openReportReader(parts.db, parts.config().database)
  app.addHook('onClose', () => db.close())
  const p = { ...parts, db }
  app.decorateRequest('who', '')
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  takeOnlyJson(app)
  app.setErrorHandler((error, request, reply) => refuseError(p, error, request, reply))
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, ['there is no such route; GET /api/v1/openapi.json tells of all of them']))
  app.addHook('onRequest', guarding)
  app.addHook('onResponse', (request, reply, done) => {
    logAction(p, request, reply)
    done()
  })
  await app.register(swagger, descriptionOptions(p.version))
  await app.register(
    (scope, _options, done) => {
      scope.addHook('onRoute', refuseOtherQueries)
      addRoutes(scope.withTypeProvider<ZodTypeProvider>(), p)
      done()
    },
    { prefix: '/api/v1' },
  )
  await app.ready()
  return { answer: (request, response) => app.routing(request, response), close: () => app.close() }
}

/** Only JSON bodies: a form on a web page cannot send one. */
function takeOnlyJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, app.getDefaultJsonParser('error', 'error'))
}

/** Refuses requests without a token, before the body is read and before the answer tells whether the route exists. */
function guard(p: Pick<AdminParts, 'config' | 'clock' | 'log'>) {
  const keeper = new TokenVerifier()
  const failures = new BadSignatures()
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    reply.headers({ 'cache-control': 'no-store', ...securityHeaders })
    const { tokens } = p.config().ops
    if (tokens.length === 0) return reply.code(404).type('text/plain').send('not found\n')
    const holder = keeper.holderOf(tokens, request.headers.authorization)
    if (holder !== null) {
      request.who = holder.name
      return refuseWeakRole(holder, request, reply)
    }
    const limited = failures.note(request.ip, p.clock.steady())
    if (limited) return refuse(reply.header('retry-after', MINUTE_S), 429, ['too many wrong tokens from this address; wait a minute'])
    p.log.warn({ address: request.ip }, 'an admin request was refused: it has no token of OPS_TOKENS')
    reply.header('www-authenticate', 'Bearer realm="submission-mirror"')
    return refuse(reply, 401, ['this needs the header Authorization: Bearer TOKEN, with one of OPS_TOKENS'])
  }
}

/** Answers 403 when the role does not suffice for the route, before the body is read. */
function refuseWeakRole({ name, role }: Holder, request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  const { url } = request.routeOptions
  if (url === undefined) return undefined
  const needed = roleNeeded(request.method, url)
  if (includesRole(role, needed)) return undefined
  return refuse(reply, 403, [`this takes the role ${needed}; the token ${name} has the role ${role}`])
}

/** Logs one line for each action, done or refused; reads are not logged. */
function logAction(p: AdminParts, request: FastifyRequest, reply: FastifyReply): void {
  if (request.who === '' || request.method === 'GET' || request.method === 'HEAD') return
  const { statusCode } = reply
  p.log.info(
    { who: request.who, route: routeOf(request), params: request.params, status: statusCode, ms: Math.round(reply.elapsedTime) },
    `admin: ${request.who} ${statusCode < 400 ? 'did' : 'was refused'} ${routeOf(request)}`,
  )
}
