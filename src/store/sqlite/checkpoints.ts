import { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { WriteGate } from '../engine/write-gate.ts'

/**
 * What to do with the write-ahead log. `passive`: copy it into the database, without blocking other connections.
 * `restart`: also make the next writer start at the beginning of the log. `truncate`: also empty the log file.
 */
export type CheckpointMode = 'passive' | 'restart' | 'truncate'

export interface CheckpointAnswer {
  readonly pages: number
  readonly problem?: string
  /** SQLite's error code, if SQLite reported the problem. */
  readonly code?: string
}

const INTERVAL_MS = 1_000
/**
 * A log with this many pages is restarted. The log file keeps its size, because overwriting a file is faster than
 * growing it.
 */
const RESTART_PAGES = 4_096
const TRUNCATE_PAGES = 65_536
const PAGE_BYTES = 4_096

/** Keeps the write-ahead log short. Checkpoints run in a worker thread, so that they don't delay transactions. */
export class SqliteCheckpoints {
  readonly #path: string
  readonly #gate: WriteGate
  readonly #log: Log
  readonly #failed: (error: unknown) => void
  #worker: Worker | null = null
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #answered: (answer: CheckpointAnswer) => void = () => {}
  #warnedOfReader = false
  #closed = false

  /**
   * @param gate the write gate, which is held while a checkpoint restarts or empties the log.
   * @param failed called with errors of SQLite.
   */
  constructor(path: string, gate: WriteGate, log: Log, failed: (error: unknown) => void) {
    this.#path = path
    this.#gate = gate
    this.#log = log
    this.#failed = failed
  }

  /** Makes sure that a checkpoint runs within 1 s. Call this after each commit. */
  written(): void {
    if (this.#timer || this.#closed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      // On a slow disk, the previous checkpoint may still be running. A later commit then starts the next checkpoint.
      this.#running ??= this.#checkpoint().finally(() => {
        this.#running = null
      })
    }, INTERVAL_MS).unref()
  }

  /**
   * Copies the log into the database and empties the log file. Otherwise the file would still contain deleted data, in
   * old versions of pages.
   * @returns false if another process reads the log, or if the disk fails.
   */
  async empty(): Promise<boolean> {
    while (this.#running !== null) await this.#running
    let isEmpty = false
    const emptying = async () => {
      await this.#gate.enter(false)
      try {
        const { pages, problem } = await this.#ask('truncate')
        isEmpty = pages === 0 && problem === undefined
      } finally {
        this.#gate.leave()
      }
    }
    this.#running = emptying().finally(() => {
      this.#running = null
    })
    await this.#running
    return isEmpty
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#worker?.ref()
    await this.#running
    await this.#worker?.terminate()
  }

  async #checkpoint(): Promise<void> {
    const { pages } = await this.#ask('passive')
    if (pages < RESTART_PAGES || this.#closed) return
    // Make other writers wait at the write gate. If they waited for SQLite's lock instead, they would block
    // the event loop.
    await this.#gate.enter(true)
    try {
      const restarted = await this.#ask(pages < TRUNCATE_PAGES ? 'restart' : 'truncate')
      this.#warnOfReader(restarted.pages)
    } finally {
      this.#gate.leave()
    }
  }

  /**
   * Warns once if the log can't be shortened, because some process has been reading the database for too long. Such a
   * log grows until it fills the disk.
   */
  #warnOfReader(pages: number): void {
    const held = pages >= TRUNCATE_PAGES
    if (held && !this.#warnedOfReader) {
      const mb = Math.round((pages * PAGE_BYTES) / 1e6)
      this.#log.warn(
        `${this.#path}-wal has grown to ${mb} MB and cannot be shortened. Another process, such as a backup, has been reading the database in one long transaction. End that process (\`fuser -v ${this.#path}\` prints it), or the file keeps growing`,
      )
    }
    this.#warnedOfReader = held
  }

  async #ask(mode: CheckpointMode): Promise<CheckpointAnswer> {
    const answer = await new Promise<CheckpointAnswer>((resolve) => {
      this.#answered = resolve
      this.#startOrFail()?.postMessage(mode)
    })
    const { problem, code } = answer
    if (problem !== undefined && code !== undefined) this.#failed(new Database.SqliteError(problem, code))
    if (problem !== undefined) this.#log.warn(`the write-ahead log of ${this.#path} could not be checkpointed: ${problem}`)
    return answer
  }

  /** @returns the thread; null if the thread can't be started. The next checkpoint tries again. */
  #startOrFail(): Worker | null {
    try {
      this.#worker ??= this.#start()
    } catch (error) {
      this.#answered({ pages: 0, problem: messageOf(error) })
    }
    return this.#worker
  }

  #start(): Worker {
    const file = import.meta.url.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.js'
    const worker = new Worker(new URL(file, import.meta.url), { workerData: this.#path })
    worker.unref()
    worker.on('message', (answer: CheckpointAnswer) => this.#answered(answer))
    worker.on('error', (error) => this.#answered({ pages: 0, problem: messageOf(error) }))
    worker.on('exit', () => {
      this.#worker = null
      this.#answered({ pages: 0 })
    })
    return worker
  }
}
