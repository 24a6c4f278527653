import { createServer } from 'node:http'
import { request } from 'undici'
import { closed, listening } from '../tools/servers.ts'

/** A balancer without health checks: requests go to the targets in turn; an unreachable one gets 502. */
export interface RoundRobin {
  readonly origin: string
  close(): Promise<void>
}

const DROPPED = ['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect']

export async function startRoundRobin(targets: readonly string[]): Promise<RoundRobin> {
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const target = targets[turn++ % targets.length]
    const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !DROPPED.includes(name)))
    request(`${target}${incoming.url}`, { method: 'POST', headers, body: incoming })
      .then(async (answer) => {
        outgoing.writeHead(answer.statusCode)
        outgoing.end(await answer.body.text())
      })
      .catch(() => outgoing.writeHead(502).end())
  })
  return { origin: `http://127.0.0.1:${await listening(server)}`, close: () => closed(server) }
}
