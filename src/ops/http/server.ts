import { type FastifyError, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { AdminParts } from './api/parts.ts'
import { LazyAdmin } from './lazily.ts'

export interface OpsHttpOptions {
  readonly host: string
  readonly port: number
  /** null when a delivery can be stored now, else why not. */
  readonly notReady: () => Promise<string | null>
  /** The text of `/metrics`, and its content type. */
  readonly metrics: () => Promise<{ readonly type: string; readonly text: string }>
  /** For `/api`, which is there only while the settings have a token. */
  readonly admin: AdminParts
}

/** The ops server: its address, and how it ends. */
export interface OpsHttp {
  /** `http://host:port`. */
  readonly origin: string
  close(): Promise<void>
}

/**
 * Serves `/healthz` (the process lives and its event loop turns), `/readyz` (a delivery can be stored: 200, else 503 with the reason) and
 * `/metrics`, open to whoever can reach the port; and `/api` for those who bear a token. All else is 404.
 * @throws what listening throws when the port is taken.
 */
export async function startOpsHttp(options: OpsHttpOptions): Promise<OpsHttp> {
  const admin = new LazyAdmin(options.admin)
  /** Hands a request for the admin routes over, before its body is read: who may send one is their business. */
  const handedOver = async (request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    if (!/^\/api(?:[/?]|$)/.test(request.url) || !admin.isOn) return false
    reply.hijack()
    await admin.answer(request.raw, reply.raw)
    return true
  }
  const app = fastify({
    ...{ forceCloseConnections: true, bodyLimit: 65_536, requestTimeout: 10_000 },
    // A path that cannot be decoded comes to no hook and to no handler.
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
  app.setNotFoundHandler((_request, reply) => notFound(reply))
  // Fastify refuses bodies that it cannot read before it is asked whether there is anything that would read them: here nothing does.
  app.setErrorHandler((error: FastifyError, _request, reply) => ((error.statusCode ?? 500) < 500 ? notFound(reply) : reply.send(error)))
  app.addHook('onRequest', async (request, reply) => void (await handedOver(request, reply)))
  app.addHook('onClose', () => admin.close())
  const origin = await app.listen({ host: options.host, port: options.port })
  return { origin, close: () => app.close() }
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).type('text/plain').send('not found\n')
}
