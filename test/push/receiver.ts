import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { holdToSchema } from '../tools/pushed-schema.ts'

export interface Arrived {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** By `performance.now()`. */
  readonly at: number
}

export interface Receiver {
  readonly url: string
  readonly arrived: Arrived[]
  /** The ids of what arrived and was answered 2xx, in the order of their answers. */
  readonly taken: Message[]
  /** What it does from now on. */
  behave(handler: Behaviour): void
}

/** A message that was taken. */
export interface Message {
  readonly id: string
  readonly type: string
  readonly data: {
    readonly seq: number
    readonly submission_id: string | null
    readonly entity: string
    readonly entity_id: string
    readonly operation: string
    readonly before: Record<string, unknown> | null
    readonly after: Record<string, unknown> | null
  }
}

/** Answers, or does not. `take` answers 204. */
export type Behaviour = (request: Arrived, response: ServerResponse, take: () => void) => void

export const takesAll: Behaviour = (_, __, take) => take()

export interface ReceiverOptions {
  /** What it is sent is made up: no change of a mirror, which would be held to its schema. */
  readonly isMadeUp?: boolean
}

/** A real HTTP receiver on loopback that keeps what came. */
export async function startReceiver(behaviour: Behaviour = takesAll, { isMadeUp = false }: ReceiverOptions = {}): Promise<Receiver> {
  const arrived: Arrived[] = []
  const taken: Message[] = []
  let handler = behaviour
  const server = createServer((message, response) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('error', () => undefined)
    message.on('end', () => {
      const { method = '', url = '', headers } = message
      const request: Arrived = { method, url, headers, body: Buffer.concat(chunks).toString(), at: performance.now() }
      if (!isMadeUp && headers['webhook-signature'] !== undefined) holdToSchema(request.body)
      arrived.push(request)
      handler(request, response, () => {
        taken.push({ id: String(headers['webhook-id']), ...(JSON.parse(request.body) as Omit<Message, 'id'>) })
        response.writeHead(204).end()
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    arrived,
    taken,
    behave(next) {
      handler = next
    },
  }
}
