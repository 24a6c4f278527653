import type { Socket } from 'node:net'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { AccountConfig, Config } from '../config/config.ts'
import { type Answer, answers } from './answers.ts'
import { Receiver, type ReceiverOptions } from './receiver.ts'

export interface StartReceiverOptions extends Omit<ReceiverOptions, 'bodyLimitBytes'> {
  readonly config: Config['receiver']
}

export interface RunningReceiver {
  /** Where it listens; the port is the real one when port 0 was asked for. */
  readonly address: { readonly host: string; readonly port: number }
  /**
   * Takes deliveries for these accounts, by these secrets, from now on; nothing that is under way is broken off.
   * @throws Error when a webhook secret is none; then nothing has changed.
   */
  setAccounts(accounts: readonly AccountConfig[]): void
  /**
   * Stops listening, answers what is in hand, and closes every connection.
   * @param graceMs after this long, connections are cut whatever is in hand.
   */
  stop(graceMs: number): Promise<void>
}

const MAX_CONNECTIONS = 1_024
const MAX_HEADER_BYTES = 16 << 10
const HEADERS_WITHIN_MS = 5_000
/** A little longer than a request's own deadline, which therefore answers first. */
const REQUEST_WITHIN_MS = 9_000
const CHECK_CONNECTIONS_MS = 1_000
/** Longer than common balancers keep an idle connection, so that they never use one that is being closed. */
const KEEP_ALIVE_MS = 72_000

/**
 * Starts the receiver on its own port, with the webhook paths and nothing else: `POST /webhooks/{account}`, and `POST /webhooks` for the
 * default account.
 * @throws Error when the address cannot be listened on, or a webhook secret is none.
 */
export async function startReceiver(options: StartReceiverOptions): Promise<RunningReceiver> {
  const { config, log, clock } = options
  const receiver = new Receiver({ ...options, bodyLimitBytes: config.bodyLimitBytes })
  const app = createServer(receiver, options)
  const origin = await app.listen({ host: config.host, port: config.port })
  const { server } = app
  const bound = server.address()
  server.maxConnections = MAX_CONNECTIONS
  // Node would answer 417 by itself to what a sender expects, were it not 100-continue.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // When all places are taken, those who hold one for nothing give it back.
  server.on('drop', () => server.closeIdleConnections())
  const port = typeof bound === 'object' && bound !== null ? bound.port : config.port
  log.info({ origin }, 'the receiver listens')
  return {
    address: { host: config.host, port },
    setAccounts: (accounts) => receiver.setAccounts(accounts),
    async stop(graceMs) {
      const over = new AbortController()
      const closed = app.close()
      const drained = receiver.drain()
      await Promise.race([drained, clock.sleep(graceMs, over.signal)])
      over.abort()
      // Answers are on their way by the next turn; connections that wait for nothing, or never said anything, are left.
      await new Promise<void>((resolve) => setImmediate(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function createServer(receiver: Receiver, options: StartReceiverOptions): FastifyInstance {
  const { config, log } = options
  const app = fastify({
    logger: false,
    trustProxy: config.trustProxy,
    requestTimeout: REQUEST_WITHIN_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // While draining the receiver answers by itself, with Retry-After.
    return503OnClosing: false,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_WITHIN_MS,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
    },
    frameworkErrors: (_error, _request, reply) => send(receiver, reply, answers.unknown),
    // No request was understood, so there is none to answer.
    clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket) {
      log.debug({ code: error.code }, 'a connection was closed: no request could be read from it')
      socket.destroy()
    },
  })
  // Bodies are read by the receiver itself, as raw bytes, whatever they say that they are.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))

  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const answer = await receiver.receive({
      account: accountOf(request),
      path: request.url,
      // Of a sender that has broken off already the system tells none.
      address: request.ip ?? 'unknown',
      headers: request.headers,
      body: request.raw,
    })
    return send(receiver, reply, answer)
  }
  app.post('/webhooks/:account', handle)
  app.post('/webhooks', handle)
  app.setNotFoundHandler((_request, reply) => send(receiver, reply, answers.unknown))
  app.setErrorHandler((error: FastifyError, request, reply) => {
    // Before any of our code runs, Fastify refuses a method that must say its Content-Type, and a type that it cannot read; types are none
    // of our business.
    if (request.is404) return send(receiver, reply, answers.unknown)
    if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return handle(request, reply)
    log.error({ err: error }, 'a request met an unexpected error and is answered 503')
    return send(receiver, reply, answers.unavailable)
  })
  return app
}

function accountOf(request: FastifyRequest): string | undefined {
  return (request.params as { readonly account?: string }).account
}

function send(receiver: Receiver, reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status)
  if (answer.retryAfter !== null) reply.header('retry-after', answer.retryAfter)
  if (receiver.draining) reply.header('connection', 'close')
  return answer.body === '' ? reply.send() : reply.type('text/plain').send(answer.body)
}
