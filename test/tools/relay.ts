import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** `there`: to the server. `back`: to whoever connected. */
export type Direction = 'there' | 'back'

interface Pair {
  readonly near: Socket
  readonly far: Socket
  readonly deaf: Set<Direction>
}

/**
 * What stands between a program and a server, and can swallow what goes one way: no end and no reset tells of it, as when a firewall has
 * forgotten a connection. A connection that has lost a byte stays deaf in that direction for ever.
 */
export class Relay {
  readonly #server: Server
  readonly #target: URL
  readonly #pairs = new Set<Pair>()
  #swallowed: Direction | null = null

  private constructor(target: URL) {
    this.#target = target
    this.#server = createServer((near) => this.#take(near))
  }

  /** @param url of a server, with its port. */
  static async start(url: string): Promise<Relay> {
    const relay = new Relay(new URL(url))
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    return relay
  }

  /** The same URL, by way of here. */
  get url(): string {
    const own = new URL(this.#target)
    own.port = String((this.#server.address() as AddressInfo).port)
    return own.href
  }

  swallow(direction: Direction): void {
    this.#swallowed = direction
  }

  /** Connections that have lost nothing are whole, and so are new ones. */
  resume(): void {
    this.#swallowed = null
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const { near, far } of this.#pairs) {
      near.destroy()
      far.destroy()
    }
    await once(this.#server, 'close')
  }

  #take(near: Socket): void {
    const far = connect(Number(this.#target.port), this.#target.hostname)
    const pair: Pair = { near, far, deaf: new Set() }
    this.#pairs.add(pair)
    this.#pass(pair, near, far, 'there')
    this.#pass(pair, far, near, 'back')
  }

  #pass(pair: Pair, from: Socket, to: Socket, direction: Direction): void {
    from.setNoDelay()
    from.on('error', () => {})
    from.on('data', (bytes: Buffer) => {
      if (this.#swallowed === direction) pair.deaf.add(direction)
      if (!pair.deaf.has(direction)) to.write(bytes)
    })
    from.on('close', () => {
      if (this.#swallowed === direction || pair.deaf.has(direction)) return
      to.destroy()
      this.#pairs.delete(pair)
    })
  }
}
