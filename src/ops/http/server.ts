import { type FastifyError, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { CHECK_CONNECTIONS_MS, HEADERS_WITHIN_MS } from '../../receive/server.ts'
import type { AdminApi } from './admin.ts'
import type { AdminServerParts } from './api/parts.ts'
import { refuseUnreadable } from './api/refusing.ts'
import { securityHeaders } from './api/security-headers.ts'
import { addConsole } from './console.ts'
import { isOwnHost } from './own-host.ts'

export interface OpsHttpOptions {
  readonly host: string
  readonly port: number
  /** @returns null if deliveries can be stored, else the reason why not. */
  readonly notReady: () => Promise<string | null>
  /** @returns the text of `/metrics` and its content type. */
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>
  /** Parts for the routes `/api` and `/mcp`. Both routes exist only if sign-in is configured. */
  readonly admin: AdminServerParts
}

const REQUEST_WITHIN_MS = 10_000
/** Paths for probes and monitoring. Requests for these paths may use any `Host` header. */
const OPEN = /^\/(?:healthz|readyz|metrics)(?:\?|$)/

export interface OpsHttp {
  /** Address of the server: `http://host:port`. */
  readonly origin: string
  close(): Promise<void>
}

/**
 * Serves the ops port:
 * - `/healthz`, `/readyz` and `/metrics` without sign-in, for any `Host` header.
 * - `/console/`, and `/api` and `/mcp` with a token or session. A foreign `Host` header gets 421.
 *
 * `/healthz` answers 200 if the event loop runs.
 * `/readyz` answers 200 if a delivery can be stored, else 503 with the reason.
 * @throws if the port is in use.
 */
export async function startOpsHttp(options: OpsHttpOptions): Promise<OpsHttp> {
  const { config, log } = options.admin
  /** The admin routes. Imported at the first request, because importing the schemas would slow down the start. */
  let api: Promise<AdminApi> | null = null
  /** @returns true if sign-in is configured. Otherwise, `/api` has no routes. */
  const isOn = () => config().ops.tokens.length > 0 || config().ops.oidc !== null
  const isMisdirected = ({ url, headers, socket }: FastifyRequest): boolean =>
    !OPEN.test(url) && !isOwnHost(headers.host, socket.localAddress, config().ops.publicUrl)
  /**
   * Passes a request for `/api` or `/mcp` to the admin routes. These routes check the token before reading the body.
   * If the `Host` header is foreign, answers 421.
   * @returns true if the request was passed on or answered.
   */
  const handedOver = async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    if (isMisdirected(request)) {
      misdirected(reply)
      return true
    }
    if (!/^\/(?:api|mcp)(?:[/?]|$)/.test(request.url) || !isOn()) return false
    reply.hijack()
    try {
      api ??= import('./admin.ts').then(({ createAdmin }) => createAdmin(options.admin))
      const { answer } = await api
      answer(request.raw, reply.raw)
    } catch (error) {
      api = null
      log.error({ err: error }, 'the admin routes could not be loaded')
      reply.raw.writeHead(500).end()
    }
    return true
  }
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: 65_536,
    requestTimeout: REQUEST_WITHIN_MS,
    http: { headersTimeout: HEADERS_WITHIN_MS, connectionsCheckingInterval: CHECK_CONNECTIONS_MS },
    clientErrorHandler: ({ code }, socket) => refuseUnreadable(socket, code),
    // For a malformed path, Fastify runs neither hooks nor handlers, so pass the request to the admin routes here.
    frameworkErrors: async (_error, request, reply) => {
      if (!(await handedOver(request, reply))) notFound(reply)
    },
  })
  app.get('/healthz', (_request, reply) => reply.type('text/plain').send('ok\n'))
  app.get('/readyz', async (_request, reply) => {
    const reason = await options.notReady()
    return reply
      .code(reason === null ? 200 : 503)
      .type('text/plain')
      .send(`${reason ?? 'ready'}\n`)
  })
  app.get('/metrics', async (_request, reply) => {
    const { type, text } = await options.metrics()
    return reply.header('content-type', type).send(text)
  })
  addConsole(app, isOn)
  app.setNotFoundHandler((_request, reply) => notFound(reply))
  // Fastify rejects an invalid body before it looks for a route. Answer 404, because no route here accepts a body.
  app.setErrorHandler((error: FastifyError, _request, reply) => ((error.statusCode ?? 500) < 500 ? notFound(reply) : reply.send(error)))
  app.addHook('onRequest', async (request, reply) => {
    if (!(await handedOver(request, reply))) reply.headers(securityHeaders)
  })
  // Ignore unknown `Expect` headers: answer the request as usual.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onClose', async () => (await api?.catch(() => null))?.close())
  const origin = await app.listen({ host: options.host, port: options.port })
  return { origin, close: () => app.close() }
}

function misdirected(reply: FastifyReply): FastifyReply {
  const text = 'unknown Host header. Set OPS_PUBLIC_URL if it is the address of this server\n'
  return reply.headers(securityHeaders).code(421).type('text/plain').send(text)
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.headers(securityHeaders).code(404).type('text/plain').send('not found\n')
}
