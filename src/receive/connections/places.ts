import type { Socket } from 'node:net'

/**
 * - `head`: no complete header has arrived
 * - `request`: a request is being read or answered, and its signature is not verified yet
 * - `signed`: a delivery with a good signature is being stored
 * - `idle`: the last request is answered
 */
type Phase = 'head' | 'request' | 'signed' | 'idle'

export interface Connection {
  readonly socket: Socket
  /**
   * The sender that this connection counts for: the peer, or the address that a trusted proxy named for this request.
   */
  sender: Sender
  /** Address of the peer. */
  readonly origin: string
  readonly isProxy: boolean
  phase: Phase
  /** Start of the phase, or time of the latest answer if other requests are unanswered. In ms of the steady clock. */
  since: number
  /** Number of unanswered requests. */
  inFlight: number
}

/** All connections that count for one address. */
interface Sender {
  readonly address: string
  readonly connections: Set<Connection>
}

/**
 * Order in which connections of one sender are closed to make room: 0 is first. `signed` connections are not closed.
 */
const ORDER: Readonly<Record<Exclude<Phase, 'signed'>, number>> = { head: 0, idle: 1, request: 2 }

export class Places {
  readonly #senders = new Map<string, Sender>()
  readonly #connections = new Map<Socket, Connection>()

  get taken(): number {
    return this.#connections.size
  }

  all(): Iterable<Connection> {
    return this.#connections.values()
  }

  of(socket: Socket): Connection | undefined {
    return this.#connections.get(socket)
  }

  count(address: string): number {
    return this.#senders.get(address)?.connections.size ?? 0
  }

  add(socket: Socket, address: string, isProxy: boolean, now: number): Connection {
    const sender = this.#sender(address)
    const connection: Connection = { socket, sender, origin: address, isProxy, phase: 'head', since: now, inFlight: 0 }
    sender.connections.add(connection)
    this.#connections.set(socket, connection)
    return connection
  }

  /** Removes a connection. A second call does nothing. */
  remove(connection: Connection): void {
    if (this.#connections.delete(connection.socket)) this.#leave(connection)
  }

  /** From now on, counts the connection for another address. */
  move(connection: Connection, address: string): void {
    if (connection.sender.address === address) return
    this.#leave(connection)
    connection.sender = this.#sender(address)
    connection.sender.connections.add(connection)
  }

  /** Connections of an address, except those that store a signed delivery. */
  unsigned(address: string): Connection[] {
    return [...(this.#senders.get(address)?.connections ?? [])].filter(({ phase }) => phase !== 'signed')
  }

  /**
   * @returns the connection to close if the address has too many: the longest waiting connection without a complete
   * header, else the longest idle connection. Null if the address has neither.
   */
  longestWaiting(address: string): Connection | null {
    const first = this.#first(this.#senders.get(address))
    return first !== null && first.phase !== 'request' ? first : null
  }

  /**
   * Chooses the connection to close if a new connection needs its place. Prefers senders with the most connections.
   * Among their connections, prefers the longest waiting connection without a complete header, then an idle connection,
   * then an unsigned request.
   * @param isSpared whether a connection is closed only as a last resort.
   * @returns null if every connection stores a signed delivery.
   */
  toMakeRoom(isSpared: (connection: Connection) => boolean): Connection | null {
    const senders = [...this.#senders.values()].sort((a, b) => b.connections.size - a.connections.size)
    let found: Connection | null = null
    let spared: Connection | null = null
    for (const sender of senders) {
      if (found !== null && sender.connections.size < found.sender.connections.size) break
      const first = this.#first(sender)
      if (first === null) continue
      if (isSpared(first)) spared ??= first
      else if (found === null || goesBefore(first, found)) found = first
    }
    return found ?? spared
  }

  #first(sender: Sender | undefined): Connection | null {
    let first: Connection | null = null
    for (const connection of sender?.connections ?? []) {
      if (connection.phase !== 'signed' && (first === null || goesBefore(connection, first))) first = connection
    }
    return first
  }

  #sender(address: string): Sender {
    const known = this.#senders.get(address) ?? { address, connections: new Set() }
    this.#senders.set(address, known)
    return known
  }

  #leave(connection: Connection): void {
    const { sender } = connection
    sender.connections.delete(connection)
    if (sender.connections.size === 0) this.#senders.delete(sender.address)
  }
}

function goesBefore(one: Connection, other: Connection): boolean {
  const order = rankOf(one) - rankOf(other)
  return order < 0 || (order === 0 && one.since < other.since)
}

function rankOf({ phase }: Connection): number {
  return phase === 'signed' ? Number.POSITIVE_INFINITY : ORDER[phase]
}
