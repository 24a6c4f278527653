import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { endsWithin } from '../base/abortable.ts'
import { unmapped } from '../base/client-address.ts'
import type { AccountConfig, Config } from '../config/config.ts'
import { ARRIVAL_HEADER, type Arrival, SELF_DELIVERY_PREFIX } from '../upstream/webhook/delivery.ts'
import { type Answer, answers } from './answers.ts'
import { DescriptorWatch } from './connections/descriptors.ts'
import { ConnectionGuard } from './connections/guard.ts'
import { ConnectionRejections, type RejectionsOptions } from './connections/rejected-connections.ts'
import { trustedProxies } from './connections/trusted-proxies.ts'
import { Receiver, type ReceiverOptions } from './receiver.ts'

interface StartReceiverOptions extends Omit<ReceiverOptions, 'bodyLimitBytes'> {
  readonly config: Omit<Config['receiver'], 'publicUrl'>
  /** Stores counts of rejected connections for the process that checks alarms. */
  readonly keepRejections: RejectionsOptions['keep']
}

export interface RunningReceiver {
  /** Actual address. If port 0 was configured, `port` is the port that the system chose. */
  readonly address: { readonly host: string; readonly port: number }
  /**
   * From now on, receives deliveries for these accounts. Requests in flight continue.
   * @throws Error if a webhook secret is malformed. The accounts then stay as before.
   */
  setAccounts(accounts: readonly AccountConfig[]): void
  /**
   * Stops listening, answers requests in flight, and closes every connection.
   * @param graceMs time limit for these answers in ms. After this time, connections are closed without an answer.
   */
  stop(graceMs: number): Promise<void>
}

const MAX_HEADER_BYTES = 16 << 10
/** Time limit for the headers of a request. Also used by the ops port. */
export const HEADERS_WITHIN_MS = 5_000
/** Time limit for a whole request. Longer than the receiver's limit of 8 s, so that the receiver answers first. */
const REQUEST_WITHIN_MS = 9_000
export const CHECK_CONNECTIONS_MS = 1_000
/**
 * How long idle connections stay open. Common load balancers close idle connections earlier. They therefore never reuse
 * a connection that this server is closing.
 */
const KEEP_ALIVE_MS = 72_000

/**
 * Starts the receiver on its own port. Serves only the webhook paths: `POST /webhooks/{account}`, and `POST /webhooks`
 * for the default account.
 * @throws Error if the receiver can't listen on the address, or a webhook secret is malformed.
 */
export async function startReceiver(options: StartReceiverOptions): Promise<RunningReceiver> {
  const { config, log, clock } = options
  const receiver = new Receiver({ ...options, bodyLimitBytes: config.bodyLimit })
  const isProxy = trustedProxies(config.trustProxy)
  const rejections = new ConnectionRejections({ clock, log, observer: options.observer, keep: options.keepRejections })
  const guard = new ConnectionGuard({ clock, rejections, descriptors: new DescriptorWatch(clock, log), isProxy })
  const app = createServer(receiver, guard, isProxy, options)
  const origin = await app.listen({ host: config.host, port: config.port })
  const { server } = app
  const bound = server.address()
  // Allows a sender to end its half of the connection and still read the answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Without this listener, Node answers 417 to every `Expect` header except 100-continue.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  const port = typeof bound === 'object' && bound !== null ? bound.port : config.port
  log.info({ origin }, `the receiver listens on ${origin}`)
  return {
    address: { host: config.host, port },
    setAccounts: (accounts) => receiver.setAccounts(accounts),
    async stop(graceMs) {
      const closed = app.close()
      await endsWithin(clock, graceMs, receiver.drain())
      // Waits one turn of the event loop, so that the last answers are written before the connections are closed.
      await new Promise<void>((resolve) => setImmediate(resolve))
      server.closeAllConnections()
      await closed
      guard.stop()
      await rejections.report()
    },
  }
}

function createServer(
  receiver: Receiver,
  guard: ConnectionGuard,
  isProxy: (address: string) => boolean,
  { config, log }: StartReceiverOptions,
): FastifyInstance {
  const send = (reply: FastifyReply, answer: Answer): FastifyReply => {
    if (!reply.request.raw.complete) guard.drain(reply.request.raw)
    reply.code(answer.status)
    if (answer.retryAfter !== null) reply.header('retry-after', answer.retryAfter)
    if (receiver.draining) reply.header('connection', 'close')
    return answer.body === '' ? reply.send() : reply.type('text/plain').send(answer.body)
  }
  const app = fastify({
    logger: false,
    trustProxy: config.trustProxy === false ? false : isProxy,
    serverFactory: (handler) => guardedServer(guard, handler),
    // While draining, the receiver answers 503 with a Retry-After header. Fastify's own 503 has none.
    return503OnClosing: false,
    frameworkErrors: (_error, _request, reply) => send(reply, answers.unknown),
    // Called if Node could not parse a request. Fastify can't answer such a request.
    clientErrorHandler(error: NodeJS.ErrnoException, socket: Socket) {
      log.debug({ code: error.code }, 'a connection was closed because no HTTP request could be read from it')
      guard.failed(socket, error)
      if (socket.writable) socket.destroy()
    },
  })
  // Turns off Fastify's body parsing. The receiver reads the raw body, with any Content-Type.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))

  const handle = async (request: FastifyRequest, reply: FastifyReply) => {
    const { socket } = request.raw
    // The address is undefined if the sender has already disconnected.
    const address = request.ip ?? 'unknown'
    if (!guard.forwarded(socket, address)) return send(reply, answers.unavailable)
    const answer = await receiver.receive({
      account: accountOf(request),
      path: request.url.split('?', 1)[0] ?? '',
      address,
      headers: request.headers,
      body: request.raw,
      onSigned: () => guard.signed(socket),
      onManyChunks: () => guard.tooManyChunks(socket),
    })
    if (answer === answers.stored && String(request.headers['svix-id']).startsWith(SELF_DELIVERY_PREFIX)) sendArrival(request, reply)
    return send(reply, answer)
  }
  app.post('/webhooks/:account', handle)
  app.post('/webhooks', handle)
  app.setNotFoundHandler((_request, reply) => send(reply, answers.unknown))
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (request.is404) return send(reply, answers.unknown)
    // Fastify rejects a missing or malformed Content-Type before it calls `handle`. The receiver accepts any type.
    if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return handle(request, reply)
    log.error({ err: error }, 'a request was answered 503 because of an unexpected error')
    return send(reply, answers.unavailable)
  })
  return app
}

/** Creates an HTTP server that handles only connections and requests that the guard admits. */
function guardedServer(guard: ConnectionGuard, handler: RequestListener): Server {
  const server = createHttpServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
    },
    (request, response) => {
      if (guard.begin(request, response)) handler(request, response)
    },
  )
  // Rejected connections never reach Node's HTTP server. Handling them there would cost twice as much.
  const serve = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket) => {
    if (guard.admit(socket)) for (const listener of serve) listener.call(server, socket)
  })
  return server
}

function accountOf(request: FastifyRequest): string | undefined {
  return (request.params as { readonly account?: string }).account
}

/**
 * Adds a header to the answer to a test delivery of `doctor`. The header has the addresses of the peer and the sender,
 * and whether a proxy forwarded the delivery.
 */
function sendArrival({ raw, ip, headers }: FastifyRequest, reply: FastifyReply): void {
  const arrival: Arrival = {
    peer: unmapped(raw.socket.remoteAddress ?? ''),
    sender: unmapped(ip ?? ''),
    is_forwarded: headers['x-forwarded-for'] !== undefined,
  }
  reply.header(ARRIVAL_HEADER, JSON.stringify(arrival))
}
