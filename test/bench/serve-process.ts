import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { freePort } from '../tools/free-port.ts'

const MAIN = join(import.meta.dirname, '../../dist/src/main.js')

export interface ServeProcess {
  readonly pid: number
  readonly receiverUrl: string
  readonly opsUrl: string
  readonly readyMs: number
  readonly child: ChildProcess
  stop(): Promise<void>
}

export const WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Starts `serve` and waits until it is ready. @param env additional settings; the default service is an unreachable address. */
export async function startServe(env: Record<string, string>, args: readonly string[] = []): Promise<ServeProcess> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const startedAt = performance.now()
  const child = spawn(process.execPath, [MAIN, 'serve', ...args], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOST: '127.0.0.1',
      PORT: String(port),
      OPS_HOST: '127.0.0.1',
      OPS_PORT: String(opsPort),
      DOCUMENTS: 'list',
      BROKER_API_BASE_URL: 'http://127.0.0.1:9/api/v1',
      BROKER_API_CLIENT_ID: 'bac_bench',
      BROKER_API_CLIENT_SECRET: 'bas_bench',
      WEBHOOK_SECRETS: WEBHOOK_SECRET,
      LOG_LEVEL: 'error',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const opsUrl = `http://127.0.0.1:${opsPort}`
  await ready(child, `${opsUrl}/readyz`)
  return {
    pid: child.pid ?? 0,
    receiverUrl: `http://127.0.0.1:${port}/webhooks`,
    opsUrl,
    readyMs: performance.now() - startedAt,
    child,
    async stop() {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  for (let attempt = 0; attempt < 2_000; attempt++) {
    if (child.exitCode !== null) throw new Error(`serve ended with ${child.exitCode}`)
    const ok = await fetch(url).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ok) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('serve did not become ready')
}
