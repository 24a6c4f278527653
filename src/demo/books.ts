import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

const CLOSED = { detail: 'the month was closed for a minute; it is open again, so send this once more' }

/** As often as a change is attempted before it is given up, with `schedule: [300ms]`. */
const REFUSALS = 2

/** An accounting system that takes policies of known clients. It refuses the first one until that is given up; a retry it takes. */
export class Books {
  /** The id of the first message, and how often it was refused. */
  #first: string | undefined
  #refused = 0
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response))
  }

  /** @returns the URL of the destination. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(0, '127.0.0.1', resolve)
    })
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the accounting of the demo listens nowhere')
    return `http://127.0.0.1:${address.port}/policies`
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await text(request)
    const id = String(request.headers['webhook-id'])
    this.#first ??= id
    if (id === this.#first && this.#refused < REFUSALS) {
      this.#refused += 1
      response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify(CLOSED))
      return
    }
    response.writeHead(200).end()
  }
}
