import { type EmulatorServer, jsonIn, type Reply, startServer } from './server.ts'

/** The trigger of a flow, or a catch hook: its address is its only secret. */
export interface HookEmulator extends EmulatorServer {
  readonly address: string
  readonly runs: readonly Readonly<Record<string, unknown>>[]
  remove(): void
}

export interface HookOptions {
  readonly path: string
  readonly mostBytes: number
  readonly queued: (run: number) => Reply
}

/** A hook by the vendors' documentation; written from that, never compared with the real systems. */
export async function startHook({ path, mostBytes, queued }: HookOptions): Promise<HookEmulator> {
  const runs: Readonly<Record<string, unknown>>[] = []
  const right = new URL(path, 'http://hook')
  let there = true
  const server = await startServer(
    (request) => {
      if (!there || request.path !== right.pathname) return failure(404, 'NotFound')
      if (request.query.toString() !== right.searchParams.toString()) return failure(401, 'DirectApiAuthorizationRequired')
      if (Buffer.byteLength(request.body) > mostBytes) return failure(413, 'RequestEntityTooLarge')
      const body = jsonIn(request)
      if (request.method !== 'POST' || body === null) return failure(400, 'TriggerInputSchemaMismatch')
      runs.push(body)
      return queued(runs.length)
    },
    () => true,
  )
  return {
    ...server,
    address: `${server.url}${path}`,
    runs,
    remove: () => {
      there = false
    },
  }
}

function failure(status: number, message: string): Reply {
  return { status, body: { error: { code: message, message } } }
}
