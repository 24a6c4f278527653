import { Worker } from 'node:worker_threads'
import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerBody } from './answer-body.ts'
import type { Expression } from './expressions.ts'

/** What a worker is asked: the values of some expressions over one input. */
export interface TemplateJob {
  readonly names: readonly string[]
  readonly input: TemplateInput
  /** Of the answer that the expressions are about: they see it as `body`. It is parsed by the worker, whom alone a long one holds up. */
  readonly body: AnswerBody | null
}

/** What expressions see as `$`. */
export type TemplateInput = { readonly [name: string]: Json }

/** The values in the order of the names, or the sentence of what went wrong. */
export type TemplateAnswer = { readonly values: Json[]; readonly problem: null } | { readonly values: null; readonly problem: string }

export interface TemplateLimits {
  /** How long all expressions of one job may take together. Starting a worker does not count. */
  readonly deadlineMs: number
  readonly workers: number
  /** Of one worker's heap. */
  readonly memoryMb: number
}

/** An evaluation takes microseconds: a second is for a machine that is very busy. */
const LIMITS: TemplateLimits = { deadlineMs: 1_000, workers: 2, memoryMb: 128 }
/** A deadline is counted in so many parts: while the machine or the process stands still, no more than one of them passes. */
const PARTS = 10

interface Pending {
  readonly job: TemplateJob
  readonly resolve: (values: Json[]) => void
  readonly reject: (error: Error) => void
}

/** One worker and what it is at. */
interface Slot {
  readonly worker: Worker
  ready: boolean
  current: Pending | null
  deadline: NodeJS.Timeout | null
}

/**
 * Evaluates a destination's JSONata in worker threads, one job at a time in each, so that an expression that never ends, or
 * eats all memory, harms nobody but its own job: its worker is killed and another one takes its place. Workers start when
 * they are first needed.
 */
export class Templates {
  readonly #expressions: Readonly<Record<string, string>>
  readonly #limits: TemplateLimits
  readonly #slots = new Set<Slot>()
  readonly #queue: Pending[] = []
  #closed = false

  /** @param expressions must compile: `checkTemplates` says so. */
  constructor(expressions: readonly Expression[], limits: Partial<TemplateLimits> = {}) {
    this.#expressions = Object.fromEntries(expressions.map(({ name, text }) => [name, text]))
    this.#limits = { ...LIMITS, ...limits }
  }

  /**
   * @param names of expressions.
   * @param input what they see as `$`.
   * @param body of an answer: what they see as `body`.
   * @returns their values in this order; nothing becomes null.
   * @throws PermanentError when one fails, does not end in time, or takes too much memory, or when the body or the input cannot be read.
   * TransientError when it cannot be told now.
   */
  evaluate(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<Json[]> {
    if (this.#closed) return Promise.reject(new TransientError('the destination is being closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ job: { names, input, body }, resolve, reject })
      this.#pump()
    })
  }

  /** Ends every worker; what is under way fails. */
  async close(): Promise<void> {
    this.#closed = true
    const slots = [...this.#slots]
    this.#failAll('the destination is being closed')
    for (const slot of slots) this.#drop(slot, new TransientError('the destination is being closed'))
    await Promise.all(slots.map((slot) => slot.worker.terminate()))
  }

  #pump(): void {
    while (this.#queue.length > 0) {
      const slots = [...this.#slots]
      const idle = slots.find((slot) => slot.ready && slot.current === null)
      if (idle === undefined) {
        const starting = slots.some((slot) => !slot.ready)
        if (!starting && slots.length < this.#limits.workers) this.#startOrFail()
        return
      }
      const pending = this.#queue.shift()
      if (pending !== undefined) this.#give(idle, pending)
    }
  }

  /** A job that cannot be handed over, since its input nests too deep for instance, is at fault alone. */
  #give(slot: Slot, pending: Pending): void {
    const { job } = pending
    try {
      slot.worker.postMessage(job)
    } catch (error) {
      pending.reject(new PermanentError(`${job.names.join(', ')} cannot be evaluated: ${messageOf(error)}`))
      return
    }
    slot.current = pending
    slot.worker.ref()
    let parts = 0
    slot.deadline = setInterval(() => {
      parts += 1
      if (parts < PARTS) return
      this.#drop(slot, new PermanentError(`${job.names.join(', ')} did not end within ${this.#limits.deadlineMs} ms`))
      void slot.worker.terminate()
      this.#pump()
    }, this.#limits.deadlineMs / PARTS)
  }

  #startOrFail(): void {
    try {
      this.#start()
    } catch (error) {
      this.#failAll(`templates cannot be evaluated: ${messageOf(error)}`)
    }
  }

  #start(): void {
    // Run from its source the program's files end in .ts, built ones in .js.
    const file = import.meta.url.endsWith('.ts') ? './template-worker.ts' : './template-worker.js'
    const worker = new Worker(new URL(file, import.meta.url), {
      workerData: this.#expressions,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb },
    })
    const slot: Slot = { worker, ready: false, current: null, deadline: null }
    this.#slots.add(slot)
    worker.on('message', (message: TemplateAnswer | 'ready') => {
      if (message === 'ready') slot.ready = true
      else this.#answered(slot, message)
      // An idle worker keeps no process alive.
      worker.unref()
      this.#pump()
    })
    worker.on('error', (error) => this.#lost(slot, messageOf(error)))
    worker.on('exit', () => this.#lost(slot, 'the thread ended'))
  }

  #answered(slot: Slot, answer: TemplateAnswer): void {
    const pending = slot.current
    this.#free(slot)
    if (answer.values !== null) pending?.resolve(answer.values)
    else pending?.reject(new PermanentError(answer.problem))
  }

  /** A worker ended by itself: at a job, that one was too much for it; before its first, no job is to blame. */
  #lost(slot: Slot, why: string): void {
    if (!this.#slots.has(slot)) return
    const names = slot.current?.job.names.join(', ')
    this.#drop(slot, new PermanentError(`${names} broke its thread, which had ${this.#limits.memoryMb} MB: ${why}`))
    if (slot.ready) this.#pump()
    else this.#failAll(`templates cannot be evaluated: ${why}`)
  }

  /** What waits may be tried later. */
  #failAll(why: string): void {
    for (const pending of this.#queue.splice(0)) pending.reject(new TransientError(why))
  }

  #drop(slot: Slot, error: Error): void {
    const pending = slot.current
    this.#slots.delete(slot)
    this.#free(slot)
    pending?.reject(error)
  }

  #free(slot: Slot): void {
    if (slot.deadline !== null) clearInterval(slot.deadline)
    slot.deadline = null
    slot.current = null
  }
}
