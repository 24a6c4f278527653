import { execFile } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import bundled from '@sparticuz/chromium'

const ROOT = join(import.meta.dirname, '../..')
const INDEX = join(ROOT, 'dist/console/index.html')

/** Builds the console if its sources changed, and unpacks the browser. */
export default async function buildConsole(): Promise<void> {
  // Unpacked once, or a second test could start the browser while the first still writes it.
  if (process.platform === 'linux') await bundled.executablePath()
  if (!isStale()) return
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js')
  // The environment of the tests would build a development page.
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
