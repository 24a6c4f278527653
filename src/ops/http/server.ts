import { type FastifyError, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { CHECK_CONNECTIONS_MS, HEADERS_WITHIN_MS } from '../../receive/server.ts'
import type { AdminServerParts } from './api/parts.ts'
import { refuseUnreadable } from './api/refusing.ts'
import { securityHeaders } from './api/security-headers.ts'
import { addConsole } from './console.ts'
import { LazyAdmin } from './lazily.ts'
import { isOwnHost } from './own-host.ts'

export interface OpsHttpOptions {
  readonly host: string
  readonly port: number
  /** null when a delivery can be stored now, else the reason. */
  readonly notReady: () => Promise<string | null>
  /** The text of `/metrics`, and its content type. */
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>
  /** For `/api`, which exists only while the settings have a token. */
  readonly admin: AdminServerParts
}

const REQUEST_WITHIN_MS = 10_000
/** What probes and monitoring ask for, by whatever name they know this machine. */
const OPEN = /^\/(?:healthz|readyz|metrics)(?:\?|$)/

/** The ops server: its address, and how it ends. */
export interface OpsHttp {
  /** `http://host:port`. */
  readonly origin: string
  close(): Promise<void>
}

/**
 * Serves `/healthz` (the process lives and its event loop turns), `/readyz` (a delivery can be stored: 200, else 503 with the reason) and
 * `/metrics`, open to everyone who can reach the port; the console below `/console/`; and `/api` and `/mcp` for requests with a token or a session.
 * All else is 404. But for the three, a request whose `Host` is not this server's own gets 421.
 * @throws when the port is in use.
 */
export async function startOpsHttp(options: OpsHttpOptions): Promise<OpsHttp> {
  const admin = new LazyAdmin(options.admin)
  const isMisdirected = ({ url, headers, socket }: FastifyRequest): boolean =>
    !OPEN.test(url) && !isOwnHost(headers.host, socket.localAddress, options.admin.config().ops.publicUrl)
  /** Hands a request to the admin routes before its body is read: they check the token first. */
  const handedOver = async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    if (isMisdirected(request)) {
      misdirected(reply)
      return true
    }
    if (!/^\/(?:api|mcp)(?:[/?]|$)/.test(request.url) || !admin.isOn) return false
    reply.hijack()
    await admin.answer(request.raw, reply.raw)
    return true
  }
  const app = fastify({
    forceCloseConnections: true,
    bodyLimit: 65_536,
    requestTimeout: REQUEST_WITHIN_MS,
    http: { headersTimeout: HEADERS_WITHIN_MS, connectionsCheckingInterval: CHECK_CONNECTIONS_MS },
    clientErrorHandler: ({ code }, socket) => refuseUnreadable(socket, code),
    // Hooks and handlers do not run for a path that cannot be decoded.
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
  addConsole(app, () => admin.isOn)
  app.setNotFoundHandler((_request, reply) => notFound(reply))
  // Fastify refuses a body that it cannot parse before it looks for a route; no route here takes one.
  app.setErrorHandler((error: FastifyError, _request, reply) => ((error.statusCode ?? 500) < 500 ? notFound(reply) : reply.send(error)))
  app.addHook('onRequest', async (request, reply) => {
    if (!(await handedOver(request, reply))) reply.headers(securityHeaders)
  })
  // What a request expects beyond the protocol is not asked of this server.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onClose', () => admin.close())
  const origin = await app.listen({ host: options.host, port: options.port })
  return { origin, close: () => app.close() }
}

function misdirected(reply: FastifyReply): FastifyReply {
  const text = 'this server does not answer under the name in the Host header; set OPS_PUBLIC_URL if that is its address\n'
  return reply.headers(securityHeaders).code(421).type('text/plain').send(text)
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.headers(securityHeaders).code(404).type('text/plain').send('not found\n')
}
