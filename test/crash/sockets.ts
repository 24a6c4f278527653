import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'

const owners = new AsyncLocalStorage<OwnSockets>()

/** All connections of one part of this process, so that they can be cut like those of a killed process. */
export class OwnSockets {
  readonly #open = new Set<Socket>()
  #isCut = false

  /** Connections that `work` opens, directly or later, belong to this set. */
  during<T>(work: () => T): T {
    return owners.run(this, work)
  }

  /** Connections that `work` opens belong to no set. */
  static outside<T>(work: () => T): T {
    return owners.exit(work)
  }

  /** Cuts all connections, and every later one. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#open) socket.destroy()
  }

  /** @returns whether the connection may be used. */
  add(socket: Socket): boolean {
    if (this.#isCut) socket.destroy(new Error('the connecting process was killed'))
    else this.#open.add(socket.once('close', () => this.#open.delete(socket)))
    return !this.#isCut
  }
}

const { connect } = Socket.prototype
Socket.prototype.connect = function connectOwn(this: Socket, ...given: unknown[]): Socket {
  return (owners.getStore()?.add(this) ?? true) ? (connect as (...given: unknown[]) => Socket).apply(this, given) : this
} as typeof connect
subscribe('net.server.socket', (message) => owners.getStore()?.add((message as { socket: Socket }).socket))
