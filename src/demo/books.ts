import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { LoopbackServer } from './loopback.ts'

const CLOSED = { detail: 'the month was closed for a minute; it is open again, so send this again' }

/** Number of times to reject the first change. With `schedule: [300ms]`, the second rejection dead-letters a change. */
const REFUSALS = 2

/**
 * An accounting system. Rejects the first attempts of the first change, so that this change is dead-lettered. Accepts
 * later attempts, and all other changes.
 */
export class Books {
  #first: string | undefined
  #refused = 0
  readonly #server: LoopbackServer

  constructor() {
    this.#server = new LoopbackServer((request, response) => void this.#receive(request, response))
  }

  /** @returns the URL to configure in the destination. */
  async listen(): Promise<string> {
    return `${await this.#server.listen()}/policies`
  }

  async close(): Promise<void> {
    await this.#server.close()
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
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
