import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Config, loadConfig } from '../../../src/config/config.ts'
import { FanOut } from '../../../src/push/queue/fan-out.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { claimStreams, type StreamResult, settleStreams } from '../../../src/store/outbox/work.ts'
import { silentLog } from '../../tools/databases.ts'

export interface Target {
  status: number
  body: string
  readonly url: string
  close(): Promise<void>
}

export async function startTarget(): Promise<Target> {
  const target = { status: 204, body: '' }
  const server: Server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(target.status).end(target.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(target, {
    url: `http://127.0.0.1:${port}/in`,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections()),
  })
}

export async function knowDestinations(db: Db, env: Readonly<Record<string, string>>): Promise<Config['destinations']> {
  const { destinations } = loadConfig(env)
  await ensureDestinations(db, destinations)
  return destinations
}

export async function fanOut(db: Db, destinations: Config['destinations']): Promise<void> {
  const service = new FanOut({ db, log: silentLog, destinations, isClockTrusted: async () => true })
  while (await service.step());
}

export async function tryFirst(
  db: Db,
  destination: string,
  outcome: Partial<StreamResult['rows'][number]> | null,
  next: StreamResult['next'] = { type: 'due', inMs: 0 },
): Promise<void> {
  const streams = await claimStreams(db, destination, { streams: 100, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
  const base = {
    state: 'ready',
    attempts: 3,
    uncertain: false,
    status: 422,
    detail: null,
    progress: null,
    error: 'it was refused',
    remoteId: null,
  } as const
  const results = streams.map((stream): StreamResult => {
    const rows = outcome === null ? [] : stream.rows.map(({ outboxId }) => ({ ...base, outboxId, ...outcome }))
    return { stream, rows, next }
  })
  await settleStreams(db, results)
}
