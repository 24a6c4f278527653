import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { holdToSchema } from '../tools/pushed-schema.ts'
import { whole } from '../tools/servers.ts'
import { listeningHere } from '../tools/test-server.ts'

export interface Arrived {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly at: number
}

export interface Receiver {
  readonly url: string
  readonly arrived: Arrived[]
  readonly taken: Message[]
  behave(handler: Behavior): void
}

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
export type Behavior = (request: Arrived, response: ServerResponse, take: () => void) => void

export const takesAll: Behavior = (_, __, take) => take()

export interface ReceiverOptions {
  /** Messages are invented, so they have no schema. */
  readonly isMadeUp?: boolean
}

export async function startReceiver(behavior: Behavior = takesAll, { isMadeUp = false }: ReceiverOptions = {}): Promise<Receiver> {
  const arrived: Arrived[] = []
  const taken: Message[] = []
  let handler = behavior
  const server = createServer(
    whole(({ method = '', url = '', headers }, response, body) => {
      const request: Arrived = { method, url, headers, body, at: performance.now() }
      if (!isMadeUp && headers['webhook-signature'] !== undefined) holdToSchema(request.body)
      arrived.push(request)
      handler(request, response, () => {
        taken.push({ id: String(headers['webhook-id']), ...(JSON.parse(request.body) as Omit<Message, 'id'>) })
        response.writeHead(204).end()
      })
    }),
  )
  return {
    url: `http://127.0.0.1:${await listeningHere(server)}/hook`,
    arrived,
    taken,
    behave(next) {
      handler = next
    },
  }
}
