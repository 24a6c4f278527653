import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'svix'
import { holdToSchema } from '../tools/pushed-schema.ts'
import { closed, listening, whole } from '../tools/servers.ts'

/**
 * How a hook treats a delivery. `take`: stores it and answers 204. `reset`: breaks the connection before. `lose` and `hang`: store it, then
 * break the connection or never answer. A status: answers it and stores nothing.
 */
export type Mishap = 'take' | 'reset' | 'lose' | 'hang' | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }

export interface Arrival {
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
  /** @param nth earlier deliveries to the hook. */
  mishap: (hook: string, nth: number) => Mishap = () => 'take'
  readonly #server: Server
  readonly #webhook: Webhook

  private constructor(secret: string) {
    this.#webhook = new Webhook(secret)
    this.#server = createServer(whole((request, response, body) => this.#answer(request, response, body)))
  }

  static async start(secret: string): Promise<Hooks> {
    const hooks = new Hooks(secret)
    await listening(hooks.#server)
    return hooks
  }

  urlOf(hook: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${hook}`
  }

  takenBy(hook: string): string[] {
    return this.arrivals.filter((arrival) => arrival.taken && arrival.hook === hook).map(({ id }) => id)
  }

  close(): Promise<void> {
    return closed(this.#server)
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

/** Behind a login, unsigned: a token, and a receiver of everything. */
function plain(url: string, response: ServerResponse): ServerResponse {
  if (!url.endsWith('/token')) return response.writeHead(204).end()
  const tokens = { access_token: randomUUID(), refresh_token: randomUUID(), expires_in: 3_600 }
  return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(tokens))
}
