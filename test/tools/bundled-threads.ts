import type childProcess from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { basename, dirname, join } from 'node:path'
import type workerThreads from 'node:worker_threads'
import type { WorkerOptions } from 'node:worker_threads'
import { programPath } from './program.ts'

// Threads and processes of the sources run from the tests' bundle: each would take a quarter of a second of processor time to load the
// sources.
const require = createRequire(import.meta.url)
const threads = require('node:worker_threads') as { Worker: typeof workerThreads.Worker & { isBundled?: true } }
if (!threads.Worker.isBundled) {
  const folder = dirname(programPath('main'))
  threads.Worker = class extends threads.Worker {
    static override readonly isBundled = true
    constructor(file: string | URL, options?: WorkerOptions) {
      super(file instanceof URL ? bundled(folder, file) : file, options)
    }
  }
  const processes = require('node:child_process') as { fork(file: string | URL, ...rest: unknown[]): childProcess.ChildProcess }
  const { fork } = processes
  processes.fork = (file, ...rest) => fork(file instanceof URL ? bundled(folder, file) : file, ...rest)
  syncBuiltinESMExports()
}

function bundled(folder: string, source: URL): string | URL {
  const file = join(folder, `${basename(source.pathname, '.ts')}.js`)
  return source.pathname.includes('/src/') && existsSync(file) ? file : source
}
