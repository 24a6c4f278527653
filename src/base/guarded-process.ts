import { type ChildProcess, fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** Options of a child process that may take too much time or memory. */
export interface GuardedOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly v8?: readonly string[]
  /** Limit in MB. A larger process ends with SIGABRT, as at V8's heap limit. Default: no limit. */
  readonly memoryMb?: number
  readonly stderr: 'ignore' | 'inherit'
}

/** Starts a script, which must first call `guard`, as a child process. */
export function startGuarded(script: URL, { env, v8 = [], memoryMb, stderr }: GuardedOptions): ChildProcess {
  return fork(script, [String(process.pid), String(memoryMb ?? '')], {
    ...(env && { env }),
    execArgv: [...v8],
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
    serialization: 'advanced',
  })
}

/** Runs in a worker thread, because a busy script blocks its own thread. */
const GUARD = `
const { parent, bytes } = require('node:worker_threads').workerData
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  if (process.memoryUsage.rss() > bytes) process.kill(process.pid, 'SIGABRT')
}, 10)`

/** Out of memory, Linux kills this process first. No core dumps, which would contain personal data. */
const LINUX_SETTINGS = [
  ['/proc/self/oom_score_adj', '1000'],
  ['/proc/self/coredump_filter', '0'],
] as const

/** Ends this child of `startGuarded`, even while busy, when its parent has ended or its memory exceeds the limit. */
export function guard(): void {
  const [, , parent, memoryMb] = process.argv
  const workerData = { parent: Number(parent), bytes: Number(memoryMb) * 2 ** 20 || Number.POSITIVE_INFINITY }
  new Worker(GUARD, { eval: true, workerData }).unref()
  process.on('disconnect', () => process.exit())
  for (const [file, value] of LINUX_SETTINGS) {
    try {
      writeFileSync(file, value)
    } catch {
      // Not Linux.
    }
  }
}
