import { createServer } from 'node:http'
import { request } from 'undici'

/** A balancer with no health checks: requests go to the targets in turn; one that cannot be reached is answered 502. */
export interface RoundRobin {
  readonly origin: string
  close(): Promise<void>
}

const DROPPED = ['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length', 'expect']

/** @param targets origins. */
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
