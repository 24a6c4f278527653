import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../../base/client-address.ts'
import type { Clock } from '../../base/clock.ts'
import { chunkLimit } from './chunk-limit.ts'
import type { DescriptorWatch } from './descriptors.ts'
import { type Connection, Places } from './places.ts'
import type { ConnectionRejections, RejectionReason } from './rejected-connections.ts'
import { Reputation } from './reputation.ts'

/** Maximum connections, in total and per address. An office that shares one address opens fewer than 256. */
const MAX_CONNECTIONS = 1_024
const MAX_PER_ADDRESS = 256
/** Above this number of connections, unknown senders must send headers within `HEAD_WITHIN_UNDER_PRESSURE_MS`. */
const PRESSURE = (MAX_CONNECTIONS * 3) / 4
/** Time limits for the first complete header of a connection: normally, and above `PRESSURE` connections. */
const HEAD_WITHIN_MS = 5_000
const HEAD_WITHIN_UNDER_PRESSURE_MS = 1_000
/**
 * If a sender doesn't read the answer within this time, its connection is closed. The time includes the up to 8 s that
 * the receiver takes to answer.
 */
const ANSWER_READ_WITHIN_MS = 15_000
const LOOK_EVERY_MS = 500
/** Maximum unanswered requests on one connection. Usual senders and proxies send one request at a time. */
const MAX_PIPELINED = 8
/** First byte of a TLS connection. No HTTP request begins with this byte. */
const TLS_HANDSHAKE = 0x16
const HEADER_TOO_LONG = 'HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n'

interface ConnectionGuardOptions {
  readonly clock: Clock
  readonly rejections: Pick<ConnectionRejections, 'note'>
  /** Checks whether file descriptors are left for new connections. Called every 500 ms. */
  readonly descriptors: Pick<DescriptorWatch, 'look'>
  /** Whether an address belongs to a proxy whose `X-Forwarded-For` is trusted. */
  readonly isProxy: (address: string) => boolean
}

/**
 * Prevents strangers from using up all connections. A connection goes through phases: `head`, `request` (complete
 * header), `signed` (good signature), `idle`, then `request` again. A known sender is an address that sent a good
 * signature within the last hour. The guard closes a connection in these cases:
 * - A header or a body takes too long, the data isn't valid HTTP, or the sender doesn't read the answer.
 * - The address has too many connections, or all places are taken and a new connection needs one (`Places.toMakeRoom`).
 * - The sender sends many requests without waiting for answers, or sends a body in tiny chunks. The guard then also
 *   bans the address for 10 s and closes its other connections without a good signature. Proxies and known senders
 *   lose only this connection.
 * While a connection stores a signed delivery, the guard never closes it to make room.
 * A request through a trusted proxy counts for the address that the proxy names, not for the proxy.
 */
export class ConnectionGuard {
  readonly #o: ConnectionGuardOptions
  readonly #places = new Places()
  readonly #reputation = new Reputation()
  #cancelLook: () => void = () => {}

  constructor(options: ConnectionGuardOptions) {
    this.#o = options
    this.#lookLater()
  }

  /** Stops the regular check of all connections. */
  stop(): void {
    this.#cancelLook()
  }

  /**
   * Reserves a place for a new connection. If the address has too many connections, or if no place is left, first
   * closes another connection (see `Places`).
   * @returns false if the address is banned, or if no other connection can be closed. The new connection is then
   * closed.
   */
  admit(socket: Socket): boolean {
    const now = this.#o.clock.steady()
    // The address is undefined if the sender has already disconnected.
    const remote = socket.remoteAddress
    const address = addressKey(remote ?? 'unknown')
    const isProxy = remote !== undefined && this.#o.isProxy(remote)
    if (!isProxy && this.#reputation.isBanned(address, now)) return this.#turnAway(socket, 'banned', address)
    if (!isProxy && this.#places.count(address) >= MAX_PER_ADDRESS) {
      const longest = this.#places.longestWaiting(address)
      if (longest === null) return this.#turnAway(socket, 'too_many', address)
      this.#close(longest, 'too_many')
    }
    if (this.#places.taken >= MAX_CONNECTIONS) {
      const closed = this.#places.toMakeRoom((each) => this.#isSpared(each, now))
      if (closed === null) return this.#turnAway(socket, 'full', address)
      this.#close(closed, 'full')
    }
    const connection = this.#places.add(socket, address, isProxy, now)
    socket.once('close', () => this.#left(connection))
    return true
  }

  /**
   * Records that a complete header arrived.
   * @returns false if the request must not be handled. The connection is then already closed.
   */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#places.of(request.socket)
    if (connection === undefined) return false
    if (connection.inFlight >= MAX_PIPELINED) {
      this.#punish(connection, 'pipelined')
      return false
    }
    if (connection.inFlight === 0) this.#enter(connection, 'request')
    connection.inFlight += 1
    response.once('close', () => this.#answered(connection))
    return true
  }

  /**
   * Counts a proxy's request for the address that the proxy names.
   * @returns false if that address already has 256 connections.
   */
  forwarded(socket: Socket, address: string): boolean {
    const connection = this.#places.of(socket)
    if (connection === undefined || !connection.isProxy) return true
    const key = addressKey(address)
    if (key === connection.sender.address) return true
    if (this.#places.count(key) >= MAX_PER_ADDRESS) {
      this.#o.rejections.note('too_many', key)
      return false
    }
    this.#places.move(connection, key)
    return true
  }

  /** Records a good signature. Until the delivery is answered, the connection is never closed to make room. */
  signed(socket: Socket): void {
    const connection = this.#places.of(socket)
    if (connection === undefined) return
    this.#enter(connection, 'signed')
    this.#reputation.trust(connection.sender.address, this.#o.clock.steady())
  }

  /** Closes a connection that sends its body in too many small chunks. */
  tooManyChunks(socket: Socket): void {
    const connection = this.#places.of(socket)
    if (connection !== undefined) this.#punish(connection, 'small_chunks')
  }

  /**
   * Reads and drops the rest of a request body. Call this before answering a request whose body is incomplete.
   * Otherwise the sender may not read the answer.
   */
  drain(request: IncomingMessage): void {
    const isTooMany = chunkLimit()
    request.on('data', (chunk: Buffer) => {
      if (isTooMany(chunk)) this.tooManyChunks(request.socket)
    })
  }

  /**
   * Closes a connection on which Node's HTTP server reported an error.
   * @param error error of Node; `rawPacket` is the bytes that Node could not parse.
   */
  failed(socket: Socket, { code, rawPacket }: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }): void {
    const connection = this.#places.of(socket)
    if (connection === undefined) return
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#close(connection, connection.phase === 'head' ? 'slow_header' : 'slow_body')
    else if (code === 'HPE_HEADER_OVERFLOW') this.#close(connection, 'long_header', HEADER_TOO_LONG)
    // HPE_INVALID_EOF_STATE means that the sender disconnected, so no rejection is recorded.
    else if (code?.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE')
      this.#close(connection, rawPacket?.[0] === TLS_HANDSHAKE ? 'tls' : 'no_http')
  }

  #answered(connection: Connection): void {
    connection.inFlight -= 1
    if (connection.socket.destroyed) return
    if (connection.inFlight > 0) connection.since = this.#o.clock.steady()
    else {
      if (connection.isProxy) this.#places.move(connection, connection.origin)
      this.#enter(connection, 'idle')
    }
  }

  /** Whether to close the connection last when places run out. True for proxies and known senders. */
  #isSpared({ isProxy, sender }: Connection, now: number): boolean {
    return isProxy || this.#reputation.isKnown(sender.address, now)
  }

  #enter(connection: Connection, phase: Connection['phase']): void {
    connection.phase = phase
    connection.since = this.#o.clock.steady()
  }

  #left(connection: Connection): void {
    this.#places.remove(connection)
    if (connection.phase !== 'head' || connection.isProxy) return
    const now = this.#o.clock.steady()
    if (!this.#reputation.waste(connection.origin, now)) return
    this.#o.rejections.note('wasted', connection.origin)
    this.#reputation.ban(connection.origin, now)
  }

  #punish(connection: Connection, reason: RejectionReason): void {
    const { address } = connection.sender
    const now = this.#o.clock.steady()
    this.#close(connection, reason)
    if (connection.isProxy || this.#reputation.isKnown(address, now)) return
    this.#reputation.ban(address, now)
    for (const other of this.#places.unsigned(address)) this.#close(other, reason)
  }

  #turnAway(socket: Socket, reason: RejectionReason, address: string): false {
    this.#o.rejections.note(reason, address)
    socket.resetAndDestroy()
    return false
  }

  /** Frees the place immediately, although the operating system may close the connection later. */
  #close(connection: Connection, reason: RejectionReason, answer = ''): void {
    this.#o.rejections.note(reason, connection.sender.address)
    this.#places.remove(connection)
    if (answer === '') connection.socket.resetAndDestroy()
    else connection.socket.end(answer).destroySoon()
  }

  #lookLater(): void {
    this.#cancelLook = this.#o.clock.after(LOOK_EVERY_MS, () => {
      // Lets Node read arrived data first. Otherwise a busy event loop would make a sender look slow.
      setImmediate(() => this.#look())
      this.#lookLater()
    })
  }

  #look(): void {
    this.#o.descriptors.look()
    const now = this.#o.clock.steady()
    const underPressure = this.#places.taken > PRESSURE
    for (const connection of [...this.#places.all()]) {
      const waitedMs = now - connection.since
      const isShort = connection.phase === 'head' && waitedMs > HEAD_WITHIN_UNDER_PRESSURE_MS
      if (isShort && (waitedMs > HEAD_WITHIN_MS || (underPressure && !this.#isSpared(connection, now))))
        this.#close(connection, 'slow_header')
      else if (connection.inFlight > 0 && waitedMs > ANSWER_READ_WITHIN_MS) this.#close(connection, 'unread_answer')
    }
  }
}
