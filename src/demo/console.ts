import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../base/errors.ts'
import type { Host } from '../base/host.ts'
import type { Screen } from './screen.ts'

/** The project's root, seen from the sources; a package has its console built. */
const ROOT = join(import.meta.dirname, '../..')
const TOKEN_BYTES = 24

/** The console of a demo's `serve`: what it needs to be there, and its address. */
export interface DemoConsole {
  readonly settings: Readonly<Record<string, string>>
  /** Prints its address. @param ops `http://host:port` of the ops server. */
  tell(ops: string): Promise<void>
  /** Prints it again, once it was printed. */
  tellAgain(): void
  /** Asks a route of the API, as a script would; with a body, by POST. @param path behind `/api/v1`. */
  ask(path: string, body?: unknown): Promise<unknown>
}

/** Builds the console where it is not, and makes a token that is good for this run alone. */
export async function prepareConsole(host: Host, screen: Screen): Promise<DemoConsole> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  await buildConsole(host, screen)
  let origin = ''
  let address: string | null = null
  return {
    settings: { OPS_TOKENS: `demo:${token}` },
    async tell(ops) {
      origin = ops
      const page = await fetch(`${ops}/console/`)
      await page.body?.cancel()
      if (page.ok) address = `${ops}/console/#token=${token}`
      if (address !== null) screen.text(`Watch it in a browser: ${address}`)
      else screen.text('The console is not built, so there is no page to watch it on.')
    },
    tellAgain() {
      if (address !== null) screen.text(`Console: ${address}`)
    },
    async ask(path, body) {
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
  screen.text('Building the console, which is done once.')
  try {
    const env = { ...host.env, NODE_ENV: 'production' }
    await promisify(execFile)(host.self[0], [vite, 'build', 'src/console'], { cwd: ROOT, env, signal: host.signal })
  } catch (error) {
    host.signal.throwIfAborted()
    screen.text(`the console could not be built (${messageOf(error).split('\n')[0]})`)
  }
}
