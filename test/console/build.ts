import { execFile } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import bundled from '@sparticuz/chromium'

const ROOT = join(import.meta.dirname, '../..')
const INDEX = join(ROOT, 'dist/console/index.html')

/** Builds the console as `npm run build` does, unless what is built is newer than its sources, and unpacks the browser that looks at it. */
export default async function buildConsole(): Promise<void> {
  // Unpacked once: of two that need the browser for the first time one would start what the other is still writing.
  if (process.platform === 'linux') await bundled.executablePath()
  if (!isStale()) return
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  // Not the environment of the tests, under which a page for developers would be built.
  await promisify(execFile)(process.execPath, [vite, 'build', 'src/console'], {
    cwd: ROOT,
    env: { ...process.env, NODE_ENV: 'production' },
  })
}

function isStale(): boolean {
  const builtAt = statSync(INDEX, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const sources = globSync(['src/console/**/*', 'package-lock.json'], { cwd: ROOT })
  return sources.some((file) => statSync(join(ROOT, file)).mtimeMs > builtAt)
}
