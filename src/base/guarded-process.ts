import { type ChildProcess, fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** Options of a child process that may take too much time or memory. */
export interface GuardedOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly v8?: readonly string[]
  /** The process ends with SIGABRT if it uses more, as V8 does for its heap. Default: no limit. */
  readonly memoryMb?: number
  readonly stderr: 'ignore' | 'inherit'
}

/** Starts a script as a child process. The script calls `guard` first. */
export function startGuarded(script: URL, { env, v8 = [], memoryMb, stderr }: GuardedOptions): ChildProcess {
  return fork(script, [String(process.pid), String(memoryMb ?? '')], {
    ...(env && { env }),
    execArgv: [...v8],
    stdio: ['ignore', 'ignore', stderr, 'ipc'],
    serialization: 'advanced',
  })
}

/** A worker thread, because a busy script leaves its own thread no time for this. */
const GUARD = `
const { parent, bytes } = require('node:worker_threads').workerData
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  if (process.memoryUsage.rss() > bytes) process.kill(process.pid, 'SIGABRT')
}, 10)`

/** An out-of-memory kill picks this process first. Core dumps are off because they would contain personal data. */
const LINUX_SETTINGS = [
  ['/proc/self/oom_score_adj', '1000'],
  ['/proc/self/coredump_filter', '0'],
] as const

/** In a child of `startGuarded`: ends it when its parent ended or it uses too much memory, even while it is busy. */
export function guard(): void {
  const [, , parent, memoryMb] = process.argv
  const workerData = { parent: Number(parent), bytes: Number(memoryMb) * 2 ** 20 || Number.POSITIVE_INFINITY }
  new Worker(GUARD, { eval: true, workerData }).unref()
  process.on('disconnect', () => process.exit())
  for (const [file, value] of LINUX_SETTINGS) {
    try {
      writeFileSync(file, value)
    } catch {
      // Another system.
    }
  }
}
