import { createServer, type IncomingMessage } from 'node:http'
import { closed, listening } from './servers.ts'

export interface PassingAnswer {
  readonly method: string
  readonly path: string
  status: number
  headers: Record<string, string>
  body: Buffer
}

export interface Altered {
  readonly origin: string
  close(): Promise<void>
}

export async function altered(target: string, alter: (answer: PassingAnswer) => void): Promise<Altered> {
  const server = createServer((request, response) => {
    void pass(target, request, alter).then(
      ({ status, headers, body }) => response.writeHead(status, { ...headers, 'content-length': body.length }).end(body),
      () => response.destroy(),
    )
  })
  return { origin: `http://127.0.0.1:${await listening(server)}`, close: () => closed(server) }
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

// biome-ignore lint/suspicious/noExplicitAny: what a test changes has no type
export function alterJson(answer: PassingAnswer, change: (body: any) => void): void {
  const body: unknown = JSON.parse(answer.body.toString())
  change(body)
  answer.body = Buffer.from(JSON.stringify(body))
}
