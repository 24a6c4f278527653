import { Worker } from 'node:worker_threads'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { WriteGate } from '../engine/write-gate.ts'

/** `passive` disturbs nobody; `restart` also lets the log begin anew, `truncate` also cuts its file to nothing. */
export type CheckpointMode = 'passive' | 'restart' | 'truncate'

export interface CheckpointAnswer {
  /** Length of the log, in pages of 4 KB. */
  readonly pages: number
  readonly problem?: string
}

const INTERVAL_MS = 1_000
/**
 * A log that is written without pause never ends where a passive checkpoint ends, so it would grow for ever: from this length on
 * it is begun anew. Its file keeps its blocks then, for overwriting those is faster than growing a file.
 */
const RESTART_PAGES = 4_096
const TRUNCATE_PAGES = 65_536
const PAGE_BYTES = 4_096

/**
 * Keeps the write-ahead log short from a worker thread, so that no transaction pays for it (invariant 13). The worker starts with
 * the first checkpoint that is due: commands that live for a moment need none, for the last connection that closes
 * checkpoints too.
 */
export class SqliteCheckpoints {
  readonly #path: string
  readonly #gate: WriteGate
  readonly #log: Log
  #worker: Worker | null = null
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> | null = null
  #answered: (answer: CheckpointAnswer) => void = () => {}
  #toldOfReader = false
  #closed = false

  /** @param gate is held for the short last part of a checkpoint that begins the log anew. */
  constructor(path: string, gate: WriteGate, log: Log) {
    this.#path = path
    this.#gate = gate
    this.#log = log
  }

  /** Something was committed: a checkpoint follows within a second. */
  written(): void {
    if (this.#timer || this.#closed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      // Still at the last one: the disk is slow, and the next commit asks again.
      this.#running ??= this.#checkpoint().finally(() => {
        this.#running = null
      })
    }, INTERVAL_MS).unref()
  }

  /** Ends the worker, after the checkpoint that it may be at. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#worker?.ref()
    await this.#running
    await this.#worker?.terminate()
  }

  async #checkpoint(): Promise<void> {
    const pages = await this.#ask('passive')
    if (pages < RESTART_PAGES || this.#closed) return
    // Our own writers wait here, not for SQLite's lock, which would hold up the event loop.
    await this.#gate.enter(true)
    try {
      this.#tellOfReader(await this.#ask(pages < TRUNCATE_PAGES ? 'restart' : 'truncate'))
    } finally {
      this.#gate.leave()
    }
  }

  /** A log that could not be cut is one that somebody reads: as long as that lasts it grows, until the disk is full. */
  #tellOfReader(pages: number): void {
    const held = pages >= TRUNCATE_PAGES
    if (held && !this.#toldOfReader) {
      const mb = Math.round((pages * PAGE_BYTES) / 1e6)
      this.#log.warn(
        `${this.#path}-wal has grown to ${mb} MB and cannot be shortened, because something has been reading the database for long in one transaction, a backup or another process; end that (\`fuser -v ${this.#path}\` tells who has it open), or it grows on`,
      )
    }
    this.#toldOfReader = held
  }

  /** @returns the length of the log in pages, 0 when the worker failed. */
  async #ask(mode: CheckpointMode): Promise<number> {
    const { pages, problem } = await new Promise<CheckpointAnswer>((resolve) => {
      this.#answered = resolve
      this.#startOrFail()?.postMessage(mode)
    })
    if (problem !== undefined) this.#log.warn(`the write-ahead log of ${this.#path} could not be checkpointed: ${problem}`)
    return pages
  }

  /** A system that gives no thread now may give one later: the next commit asks again. */
  #startOrFail(): Worker | null {
    try {
      this.#worker ??= this.#start()
    } catch (error) {
      this.#answered({ pages: 0, problem: messageOf(error) })
    }
    return this.#worker
  }

  #start(): Worker {
    // Run from its source the program's files end in .ts, built ones in .js.
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
