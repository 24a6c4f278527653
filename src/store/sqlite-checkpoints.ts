import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { messageOf } from '../errors.ts'
import type { Log } from '../log.ts'

const INTERVAL_MS = 1_000

/**
 * Keeps the write-ahead log short from a worker thread, so that no transaction pays for it (invariant 13). The worker starts with
 * the first checkpoint that is due: commands that live for a moment need none, for the last connection that closes
 * checkpoints too.
 */
export class SqliteCheckpoints {
  readonly #path: string
  readonly #log: Log
  #worker: Worker | null = null
  #timer: NodeJS.Timeout | null = null
  #running = false
  #closed = false

  constructor(path: string, log: Log) {
    this.#path = path
    this.#log = log
  }

  /** Something was committed: a checkpoint follows within a second. */
  written(): void {
    if (this.#timer || this.#closed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#request()
    }, INTERVAL_MS).unref()
  }

  /** Ends the worker, after the checkpoint that it may be at. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
    const worker = this.#worker
    this.#worker = null
    if (!worker) return
    worker.ref()
    if (this.#running) await Promise.race([once(worker, 'message'), once(worker, 'exit')]).catch(() => {})
    await worker.terminate()
  }

  #request(): void {
    // Still at the last one: the disk is slow. The next commit asks again.
    if (this.#running || this.#closed) return
    this.#running = true
    this.#worker ??= this.#start()
    this.#worker.postMessage('checkpoint')
  }

  #start(): Worker {
    // Run from its source the program's files end in .ts, built ones in .js.
    const file = import.meta.url.endsWith('.ts') ? './sqlite-checkpointer.ts' : './sqlite-checkpointer.js'
    const worker = new Worker(new URL(file, import.meta.url), { workerData: this.#path })
    worker.unref()
    worker.on('message', (problem: string | null) => {
      this.#running = false
      if (problem !== null) this.#log.warn({ problem }, `the write-ahead log of ${this.#path} could not be checkpointed: ${problem}`)
    })
    worker.on('error', (error) => {
      this.#log.warn({ err: error }, `the checkpoint worker of ${this.#path} ended: ${messageOf(error)}`)
    })
    worker.on('exit', () => {
      this.#running = false
      if (this.#worker === worker) this.#worker = null
    })
    return worker
  }
}
