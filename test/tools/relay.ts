import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { listening } from './servers.ts'

/** `there`: to the server. `back`: to the client. */
export type Direction = 'there' | 'back'

interface Pair {
  readonly near: Socket
  readonly far: Socket
  readonly deaf: Set<Direction>
}

/** A relay that can silently drop one direction of a connection, as a firewall may do. A connection that lost a byte stays broken. */
export class Relay {
  readonly #server: Server
  readonly #target: URL
  readonly #pairs = new Set<Pair>()
  #swallowed: Direction | null = null

  private constructor(target: URL) {
    this.#target = target
    this.#server = createServer((near) => this.#take(near))
  }

  static async start(url: string): Promise<Relay> {
    const relay = new Relay(new URL(url))
    await listening(relay.#server)
    return relay
  }

  get url(): string {
    const own = new URL(this.#target)
    own.port = String((this.#server.address() as AddressInfo).port)
    return own.href
  }

  swallow(direction: Direction): void {
    this.#swallowed = direction
  }

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
