import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { LoopbackServer } from './loopback.ts'

const CLOSED = { detail: 'the month was closed for a minute; it is open again, so send this once more' }

/** As often as a change is attempted before it is given up, with `schedule: [300ms]`. */
const REFUSALS = 2

/** An accounting system that takes policies of known clients. It refuses the first one until that is given up; a retry it takes. */
export class Books {
  /** The id of the first message, and how often it was refused. */
  #first: string | undefined
  #refused = 0
  readonly #server: LoopbackServer

  constructor() {
    this.#server = new LoopbackServer((request, response) => void this.#take(request, response))
  }

  /** @returns the URL of the destination. */
  async listen(): Promise<string> {
    return `${await this.#server.listen()}/policies`
  }

  async close(): Promise<void> {
    await this.#server.close()
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
