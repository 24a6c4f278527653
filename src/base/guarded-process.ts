import { type ChildProcess, fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** Options of a child process with limited memory. */
export interface GuardedOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly v8?: readonly string[]
  /**
   * Memory limit in MB. A process above the limit is aborted with SIGABRT, as at V8's heap limit. Default: no limit.
   */
  readonly memoryMb?: number
  readonly stderr: 'ignore' | 'inherit'
}

/** Runs a script as a child process. The script must call `guard` first. */
export function startGuarded(script: URL, { env, v8 = [], memoryMb, stderr }: GuardedOptions): ChildProcess {
  return fork(script, [String(process.pid), String(memoryMb ?? '')], {
    ...(env && { env }),
    execArgv: [...v8],
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
    serialization: 'advanced',
  })
}

/** Code of a watchdog. Runs in a worker thread, because a busy script blocks the timers of its own thread. */
const GUARD = `
const { parent, bytes } = require('node:worker_threads').workerData
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  if (process.memoryUsage.rss() > bytes) process.kill(process.pid, 'SIGABRT')
}, 10)`

/**
 * Settings of a Linux process. `oom_score_adj`: if memory runs out, Linux kills this process before others.
 * `coredump_filter`: core dumps contain no memory, because memory may contain personal data.
 */
const LINUX_SETTINGS = [
  ['/proc/self/oom_score_adj', '1000'],
  ['/proc/self/coredump_filter', '0'],
] as const

/**
 * Call this first in a script that `startGuarded` runs. Ends the process if its parent has ended or its memory exceeds
 * the limit, even while the script is busy.
 */
export function guard(): void {
  const [, , parent, memoryMb] = process.argv
  const workerData = { parent: Number(parent), bytes: Number(memoryMb) * 2 ** 20 || Number.POSITIVE_INFINITY }
  new Worker(GUARD, { eval: true, workerData }).unref()
  process.on('disconnect', () => process.exit())
  for (const [file, value] of LINUX_SETTINGS) {
    try {
      writeFileSync(file, value)
    } catch {
      // The files in `LINUX_SETTINGS` exist only on Linux.
    }
  }
}
