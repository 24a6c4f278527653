import { maxHeaderSize, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyError, type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import { conditionOf } from '../../client/openapi/conditions.ts'
import { requestRecord } from '../service/activity-log.ts'
import { buildParts } from '../service/build.ts'
import type { SandboxOptions, SentAnswer } from '../service/options.ts'
import type { BuiltParts } from '../service/parts.ts'
import { Refusal } from '../service/refusal.ts'
import { BASE_PATH, Sandbox } from '../service/sandbox.ts'
import type { StateFile } from '../service/state-file.ts'
import type { Unshown } from '../service/unshown.ts'
import { registerAdmin } from './admin.ts'
import { registerLifeAdmin } from './admin-life.ts'
import { adminRoutes } from './admin-routes.ts'
import { errorAnswer, refusalAnswer, send } from './answers.ts'
import { registerApi } from './api.ts'
import { registerOAuth } from './oauth.ts'
import { registerPage } from './page.ts'
import { registerWrites } from './writes.ts'

/** Paths of reads that change the state: authorization issues codes, and appetite questions are counted. */
const CHANGING_READS = /\/authorize|\/broker\/appetite/
const BODY_LIMIT_BYTES = 8 * 1024 * 1024

/**
 * Starts the emulator, by default on loopback only. Serves the API below `/api/v1`, control routes below `/_sandbox`,
 * and a page. Generates data and sends signed deliveries.
 * @throws z.ZodError if a fault is invalid; errors of listening, such as a port in use.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const parts = buildParts(options)
  const refuse = (reply: FastifyReply, refusal: Refusal) => send(reply, refusalAnswer(refusal, parts.unshown))
  const sendError = (error: FastifyError, _request: unknown, reply: FastifyReply) => {
    const { statusCode = 500, message } = error
    if (statusCode >= 500) return send(reply, errorAnswer(statusCode, message))
    return refuse(reply, new Refusal(statusCode === 413 ? 'body_too_large' : 'malformed_request', message))
  }
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: BODY_LIMIT_BYTES,
    frameworkErrors: sendError,
    // Allows long path parameters, so that a route rejects an overlong id like any other invalid id.
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: ({ code }, socket) => sendWithoutRequest(socket, code, parts.unshown),
  })
  app.setErrorHandler(sendError)
  // Handles a request with an unknown `Expect` header like any other request.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  if (parts.stateFile) keepState(app, parts.stateFile)
  await parts.stateFile?.persist()
  let origin = ''
  const notFound = new Refusal('not_found', 'Not Found')
  app.setNotFoundHandler((_request, reply) => refuse(reply, notFound))
  await app.register(async (api) => registerService(api, parts, options, () => origin), { prefix: BASE_PATH })
  registerPage(app)
  let sandbox: Sandbox | undefined
  const control = async (admin: FastifyInstance) => {
    const on = adminRoutes(admin, () => sandbox, parts.unshown)
    registerAdmin(admin, on)
    registerLifeAdmin(on, parts)
  }
  await app.register(control, { prefix: '/_sandbox' })
  origin = await app.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 })
  sandbox = new Sandbox({ ...parts, app, origin })
  if (options.autoStart ?? true) sandbox.story.start()
  return sandbox
}

function sendWithoutRequest(socket: Socket, code: string, unshown: Unshown): void {
  const condition = code === 'HPE_HEADER_OVERFLOW' ? 'head_too_large' : 'malformed_request'
  const status = unshown.status(condition)
  const body = JSON.stringify({ detail: conditionOf(condition).when })
  if (!socket.writable) return
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`, 'content-type: application/json', `content-length: ${body.length}`]
  socket.end([...head, 'connection: close', '', body].join('\r\n'))
}

/** Saves the state before each answer is sent. */
function keepState(app: FastifyInstance, stateFile: StateFile): void {
  app.addHook('onSend', async (request) => {
    if (request.method !== 'GET' || CHANGING_READS.test(request.url)) stateFile.touch()
    await stateFile.persist()
  })
}

function registerService(api: FastifyInstance, parts: BuiltParts, options: SandboxOptions, origin: () => string): void {
  if (options.observeAnswer) observeAnswers(api, options.observeAnswer)
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(body.toString()))
  })
  // Accepts bodies of all other content types. Otherwise Fastify would reject such a request before a route records and
  // answers it.
  api.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  registerWrites(api, parts)
  registerOpenApi(api, parts.unshown)
  registerApi(api, parts)
  registerOAuth(api, parts, () => ({ origin: origin(), baseUrl: `${origin()}${BASE_PATH}` }))
  api.setNotFoundHandler((request, reply) => {
    parts.activity.request(requestRecord('unknown', request, parts.tokens.callerOf(request.headers.authorization)?.account.name))
    return send(reply, refusalAnswer(new Refusal('not_found', 'Not Found'), parts.unshown))
  })
}

function observeAnswers(api: FastifyInstance, observe: (answer: SentAnswer) => void): void {
  api.addHook('onSend', async (request, reply, payload) => {
    const path = request.url.slice(BASE_PATH.length).replace(/\?.*$/, '')
    const body = Buffer.isBuffer(payload) ? payload : Buffer.from(typeof payload === 'string' ? payload : '')
    const contentType = String(reply.getHeader('content-type') ?? '')
    observe({ method: request.method, path, status: reply.statusCode, contentType, body, condition: reply.condition ?? null })
  })
}

/** Serves the OpenAPI document with this sandbox's error statuses. The document is built on first use. */
function registerOpenApi(app: FastifyInstance, unshown: Unshown): void {
  let document: Promise<string> | undefined
  app.get('/openapi.json', async (_request, reply) => {
    document ??= makeDocument(unshown)
    return reply.type('application/json').send(await document)
  })
}

async function makeDocument(unshown: Unshown): Promise<string> {
  const { openApiDocument } = await import('../../client/openapi/document.ts')
  return JSON.stringify(openApiDocument((name) => unshown.status(name)))
}
