import { Worker } from 'node:worker_threads'
import { messageOf } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerBody } from './answer-body.ts'

/** A job of a worker thread: evaluate some expressions over one input. */
export interface TemplateJob {
  readonly names: readonly string[]
  readonly input: TemplateInput
  /**
   * Body of the answer that the expressions are about, which they see as `body`. The worker parses it, so that a long one blocks only the
   * worker.
   */
  readonly body: AnswerBody | null
}

/** The input that expressions see as `$`. */
export type TemplateInput = { readonly [name: string]: Json }

/** The values in the order of the names, up to the first that failed, and why it did; null: all have a value. */
export interface TemplateAnswer {
  readonly values: Json[]
  readonly problem: string | null
}

/** What a thread is told: to compile other expressions, by name, in place of those that it had, or to evaluate some of them. */
export type TemplateRequest = { readonly expressions: Readonly<Record<string, string>> } | TemplateJob

/** Who has a thread, and hears of it. */
export interface ThreadOwner {
  /** The expressions are compiled. */
  ready(): void
  answered(answer: TemplateAnswer): void
  /** It ended by itself. */
  ended(why: string): void
}

/** Threads that nobody has: starting one takes a tenth of a second of processor, and a reload opens what another closes. */
const spare = new Set<TemplateThread>()
const MOST_SPARE = 4
/**
 * Largest young generation of a thread's heap. Node ends a thread that reaches the limit of the old generation, and lets it have 16 MB more
 * until then. A young generation of the default size can promote more than that at once, and V8 then ends the whole process.
 */
const YOUNG_MB = 8

/** A worker thread that evaluates the expressions of one destination after another. */
export class TemplateThread {
  readonly #worker: Worker
  readonly #memoryMb: number
  #owner: ThreadOwner | null = null

  private constructor(memoryMb: number) {
    this.#memoryMb = memoryMb
    // The worker ends in .ts when run from source, and in .js when built.
    const file = import.meta.url.endsWith('.ts') ? './template-worker.ts' : './template-worker.js'
    const resourceLimits = { maxOldGenerationSizeMb: memoryMb, maxYoungGenerationSizeMb: YOUNG_MB }
    this.#worker = new Worker(new URL(file, import.meta.url), { env: {}, resourceLimits })
    this.#worker.on('message', (message: TemplateAnswer | 'ready') => {
      // An idle worker does not keep the process alive.
      this.#worker.unref()
      if (message === 'ready') this.#owner?.ready()
      else this.#owner?.answered(message)
    })
    this.#worker.on('error', (error) => this.#ended(messageOf(error)))
    this.#worker.on('exit', () => this.#ended('the thread ended'))
  }

  /**
   * Takes a thread that nobody has, or starts one.
   * @param memoryMb the largest heap that it may have.
   * @throws Error when there can be none now.
   */
  static take(expressions: Readonly<Record<string, string>>, memoryMb: number, owner: ThreadOwner): TemplateThread {
    const thread = [...spare].find((each) => each.#memoryMb === memoryMb) ?? new TemplateThread(memoryMb)
    spare.delete(thread)
    thread.#owner = owner
    try {
      thread.post({ expressions })
    } catch (error) {
      void thread.end()
      throw error
    }
    return thread
  }

  /** @throws DataCloneError or RangeError when the request cannot be handed to a thread. */
  post(request: TemplateRequest): void {
    this.#worker.postMessage(request)
    this.#worker.ref()
  }

  /** Leaves it, with no job in progress, to whoever needs one next. Its owner hears nothing more. */
  async giveBack(): Promise<void> {
    if (spare.size >= MOST_SPARE) return this.end()
    this.#owner = null
    spare.add(this)
  }

  /** Ends it and its job. Its owner hears nothing more. */
  async end(): Promise<void> {
    this.#owner = null
    await this.#worker.terminate()
  }

  #ended(why: string): void {
    spare.delete(this)
    this.#owner?.ended(why)
  }
}
