import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'svix'
import { holdToSchema } from '../tools/pushed-schema.ts'

/**
 * How a hook treats a delivery. `take`: stores it and answers 204. `reset`: breaks the connection before. `lose` and `hang`: store it, then
 * break the connection or never answer. A status: answers it and stores nothing.
 */
export type Mishap = 'take' | 'reset' | 'lose' | 'hang' | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }

/** One delivery to one of the hooks. */
export interface Arrival {
  /** Which hook: the last step of its path. */
  readonly hook: string
  readonly id: string
  readonly body: string
  readonly taken: boolean
}

/** Real receivers of Standard Webhooks on loopback, which outlive the processes that send to them. */
export class Hooks {
  /** Everything that came with a good signature, in order. */
  readonly arrivals: Arrival[] = []
  /** Deliveries whose signature was wrong. */
  forged = 0
  /** @param nth how many came to the hook before it. */
  mishap: (hook: string, nth: number) => Mishap = () => 'take'
  readonly #server: Server
  readonly #webhook: Webhook

  private constructor(secret: string) {
    this.#webhook = new Webhook(secret)
    this.#server = createServer((request, response) => this.#hear(request, response))
  }

  static async start(secret: string): Promise<Hooks> {
    const hooks = new Hooks(secret)
    hooks.#server.listen(0, '127.0.0.1')
    await once(hooks.#server, 'listening')
    return hooks
  }

  /** Where a hook is. */
  urlOf(hook: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${hook}`
  }

  /** The ids of what a hook took, in order. */
  takenBy(hook: string): string[] {
    return this.arrivals.filter((arrival) => arrival.taken && arrival.hook === hook).map(({ id }) => id)
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #hear(request: IncomingMessage, response: ServerResponse): void {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    // A process that is killed leaves some in the middle.
    request.on('error', () => undefined)
    request.on('end', () => this.#answer(request, response, Buffer.concat(chunks).toString()))
  }

  #answer({ url = '', headers }: IncomingMessage, response: ServerResponse, body: string): void {
    if (url.startsWith('/plain/')) return void plain(url, response)
    try {
      this.#webhook.verify(body, headers as Record<string, string>)
    } catch {
      this.forged += 1
      response.writeHead(401).end()
      return
    }
    holdToSchema(body)
    const hook = url.slice(1)
    const mishap = this.mishap(hook, this.arrivals.filter((arrival) => arrival.hook === hook).length)
    const taken = mishap === 'take' || mishap === 'lose' || mishap === 'hang'
    this.arrivals.push({ hook, id: String(headers['webhook-id']), body, taken })
    if (mishap === 'take') response.writeHead(204).end()
    else if (mishap === 'reset' || mishap === 'lose') response.socket?.destroy()
    else if (mishap !== 'hang') response.writeHead(mishap.status, mishap.headers).end()
  }
}

/** What is behind a login, unsigned: a token, and a taker of whatever is sent. */
function plain(url: string, response: ServerResponse): ServerResponse {
  if (!url.endsWith('/token')) return response.writeHead(204).end()
  const tokens = { access_token: randomUUID(), refresh_token: randomUUID(), expires_in: 3_600 }
  return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens))
}
