import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'

const owners = new AsyncLocalStorage<OwnSockets>()

/** All connections that a part of this process makes and takes, so that they can be cut as the system does with those of a killed process. */
export class OwnSockets {
  readonly #open = new Set<Socket>()
  #isCut = false

  /** What `work` begins belongs to it, and whatever follows from that. */
  during<T>(work: () => T): T {
    return owners.run(this, work)
  }

  /** What `work` begins belongs to nobody. */
  static outside<T>(work: () => T): T {
    return owners.exit(work)
  }

  /** Ends all of them at once. From now on it gets none. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#open) socket.destroy()
  }

  /** @returns whether it may be used. */
  add(socket: Socket): boolean {
    if (this.#isCut) socket.destroy(new Error('whoever connects was killed'))
    else this.#open.add(socket.once('close', () => this.#open.delete(socket)))
    return !this.#isCut
  }
}

const { connect } = Socket.prototype
Socket.prototype.connect = function connectOwn(this: Socket, ...given: unknown[]): Socket {
  return (owners.getStore()?.add(this) ?? true) ? (connect as (...given: unknown[]) => Socket).apply(this, given) : this
} as typeof connect
subscribe('net.server.socket', (message) => owners.getStore()?.add((message as { socket: Socket }).socket))
