import { createServer, type RequestListener, type Server } from 'node:http'

/** An HTTP server of the demo, on loopback only. */
export class LoopbackServer {
  readonly #server: Server

  constructor(onRequest: RequestListener) {
    this.#server = createServer(onRequest)
  }

  /**
   * Listens on a free port.
   * @returns the origin, such as `http://127.0.0.1:49152`.
   */
  async listen(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', resolve)
    })
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('A server of the demo has no port.')
    return `http://127.0.0.1:${address.port}`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
