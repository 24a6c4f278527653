import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../base/errors.ts'
import type { Host } from '../base/host.ts'
import type { Screen } from './screen.ts'

const ROOT = join(import.meta.dirname, '../..')
const TOKEN_BYTES = 24

/** Console and API of the demo's `serve` process. */
export interface DemoConsole {
  /** Settings that `serve` needs for the console. */
  readonly settings: Readonly<Record<string, string>>
  /**
   * Prints the console's address.
   * @param ops origin of the ops port, such as `http://127.0.0.1:8081`.
   */
  printAddress(ops: string): Promise<void>
  /**
   * Calls a route of the API: POST if there is a body, else GET.
   * @param path path after `/api/v1`.
   * @throws Error if the status of the answer isn't 2xx.
   */
  call(path: string, body?: unknown): Promise<unknown>
}

/** Builds the console if needed, and creates an access token for this run. */
export async function prepareConsole(host: Host, screen: Screen): Promise<DemoConsole> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  await buildConsole(host, screen)
  let origin = ''
  return {
    settings: { OPS_TOKENS: `demo:${token}` },
    async printAddress(ops) {
      origin = ops
      const page = await fetch(`${ops}/console/`)
      await page.body?.cancel()
      screen.text(page.ok ? `Console: ${ops}/console/#token=${token}` : 'The console is not built.')
    },
    async call(path, body) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const answer = await fetch(
        `${origin}/api/v1${path}`,
        body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
      )
      if (!answer.ok) throw new Error(`serve answered ${answer.status} to ${path}: ${await answer.text()}`)
      return await answer.json()
    },
  }
}

async function buildConsole(host: Host, screen: Screen): Promise<void> {
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  const isBuilt = existsSync(join(ROOT, 'dist/console/index.html'))
  if (isBuilt || !existsSync(join(ROOT, 'src/console/vite.config.ts')) || !existsSync(vite)) return
  screen.text('Building the console. This happens only once.')
  try {
    const env = { ...host.env, NODE_ENV: 'production' }
    await promisify(execFile)(host.self[0], [vite, 'build', 'src/console'], { cwd: ROOT, env, signal: host.signal })
  } catch (error) {
    host.signal.throwIfAborted()
    screen.text(`The console can't be built: ${messageOf(error).split('\n')[0]}`)
  }
}
