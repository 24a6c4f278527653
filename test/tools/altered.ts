import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An answer on its way back. */
export interface PassingAnswer {
  readonly method: string
  /** Path and query below the origin. */
  readonly path: string
  status: number
  headers: Record<string, string>
  body: Buffer
}

/** A service as another would have it: each answer of the one behind it may be changed on the way. */
export interface Altered {
  readonly origin: string
  close(): Promise<void>
}

/** @param alter changes an answer; nothing when it leaves it as it is. */
export async function altered(target: string, alter: (answer: PassingAnswer) => void): Promise<Altered> {
  const server = createServer((request, response) => {
    void pass(target, request, alter).then(
      ({ status, headers, body }) => response.writeHead(status, { ...headers, 'content-length': body.length }).end(body),
      () => response.destroy(),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function pass(target: string, request: IncomingMessage, alter: (answer: PassingAnswer) => void): Promise<PassingAnswer> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  const { authorization, 'content-type': type, accept } = request.headers
  const headers = Object.entries({ authorization, 'content-type': type, accept }).filter((entry): entry is [string, string] => !!entry[1])
  const method = request.method ?? 'GET'
  const path = request.url ?? '/'
  const body = method === 'GET' ? null : Buffer.concat(chunks)
  const answer = await fetch(`${target}${path}`, { method, headers, body, redirect: 'manual' })
  const kept = ['content-type', 'date', 'retry-after', 'www-authenticate', 'cache-control']
  const passing: PassingAnswer = {
    method,
    path,
    status: answer.status,
    headers: Object.fromEntries([...answer.headers].filter(([name]) => kept.includes(name))),
    body: Buffer.from(await answer.arrayBuffer()),
  }
  alter(passing)
  return passing
}

/** Changes the body of an answer of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: what a test changes has no type
export function alterJson(answer: PassingAnswer, change: (body: any) => void): void {
  const body: unknown = JSON.parse(answer.body.toString())
  change(body)
  answer.body = Buffer.from(JSON.stringify(body))
}
