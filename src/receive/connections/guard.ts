import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../../base/client-address.ts'
import type { Clock } from '../../base/clock.ts'
import { chunkLimit } from './chunk-limit.ts'
import type { DescriptorWatch } from './descriptors.ts'
import { type Connection, Places } from './places.ts'
import type { ConnectionRejections, RejectionReason } from './rejected-connections.ts'
import { Reputation } from './reputation.ts'

/** Connection limits in total and per address. A whole office behind one address opens fewer. */
const MAX_CONNECTIONS = 1_024
const MAX_PER_ADDRESS = 256
/** At this count, few places are left. */
const PRESSURE = (MAX_CONNECTIONS * 3) / 4
/** Time limit for the first complete header: usual, and while few places are left. */
const HEAD_WITHIN_MS = 5_000
const HEAD_WITHIN_UNDER_PRESSURE_MS = 1_000
/** Time limit for an answer to be sent and read. The receiver answers sooner, so the sender isn't reading. */
const ANSWER_READ_WITHIN_MS = 15_000
const LOOK_EVERY_MS = 500
/** Maximum unanswered requests on one connection. No known sender or proxy sends more than one. */
const MAX_PIPELINED = 8
/** The first byte of a TLS connection; no HTTP request begins with it. */
const TLS_HANDSHAKE = 0x16
const HEADER_TOO_LONG = 'HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n'

interface ConnectionGuardOptions {
  readonly clock: Clock
  readonly rejections: Pick<ConnectionRejections, 'note'>
  /** Checks regularly whether new connections can still be accepted. */
  readonly descriptors: Pick<DescriptorWatch, 'look'>
  /** Whether an address belongs to a proxy whose `X-Forwarded-For` is trusted. */
  readonly isProxy: (address: string) => boolean
}

/**
 * Prevents strangers from using up all connections. Phases: `head` → `request` (complete header) → `signed` (good signature) → `idle` →
 * `request` …. A connection is closed if it
 * - waits too long for its first header, or for its answer to be read;
 * - exceeds the limit of its address, or must make room because all places are taken (`Places.toMakeRoom`);
 * - pipelines, or sends its body in tiny chunks, which take up to 10 ms to read. Then all unsigned connections of its address are closed,
 * and the address is banned for a while. A known sender loses only this connection.
 * A delivery with a good signature is never interrupted. Requests through a trusted proxy count for the address that the proxy names, not
 * for the proxy.
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

  /** Ends the regular check of waiting connections. */
  stop(): void {
    this.#cancelLook()
  }

  /** Reserves a place for a new connection. @returns false after closing it because no place is left. */
  admit(socket: Socket): boolean {
    const now = this.#o.clock.steady()
    // A disconnected sender has no address.
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

  /** Records a complete header. @returns false if the request must not be handled; then its connection is closed. */
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

  /** Counts a proxy's request for the address that the proxy names. @returns false if too many requests of that address are in progress. */
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

  /** Records a good signature, so that nothing closes the connection. */
  signed(socket: Socket): void {
    const connection = this.#places.of(socket)
    if (connection === undefined) return
    this.#enter(connection, 'signed')
    this.#reputation.trust(connection.sender.address, this.#o.clock.steady())
  }

  /** Closes a connection whose body comes in too many small chunks. */
  tooManyChunks(socket: Socket): void {
    const connection = this.#places.of(socket)
    if (connection !== undefined) this.#punish(connection, 'small_chunks')
  }

  /** Discards the rest of a body that is answered early, so that the sender reads the answer. Call before answering. */
  drain(request: IncomingMessage): void {
    const isTooMany = chunkLimit()
    request.on('data', (chunk: Buffer) => {
      if (isTooMany(chunk)) this.tooManyChunks(request.socket)
    })
  }

  /** Handles a connection that failed in the HTTP server. @param error from Node, with the unreadable bytes. */
  failed(socket: Socket, { code, rawPacket }: NodeJS.ErrnoException & { readonly rawPacket?: Buffer }): void {
    const connection = this.#places.of(socket)
    if (connection === undefined) return
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT') this.#close(connection, connection.phase === 'head' ? 'slow_header' : 'slow_body')
    else if (code === 'HPE_HEADER_OVERFLOW') this.#close(connection, 'long_header', HEADER_TOO_LONG)
    // INVALID_EOF_STATE: the sender disconnected.
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

  /** Proxies and known senders make room last. */
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

  /** Frees the place before the system has closed the connection. */
  #close(connection: Connection, reason: RejectionReason, answer = ''): void {
    this.#o.rejections.note(reason, connection.sender.address)
    this.#places.remove(connection)
    if (answer === '') connection.socket.resetAndDestroy()
    else connection.socket.end(answer).destroySoon()
  }

  #lookLater(): void {
    this.#cancelLook = this.#o.clock.after(LOOK_EVERY_MS, () => {
      // Runs after arrived data was read, so that a sender isn't blamed for a busy event loop.
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
