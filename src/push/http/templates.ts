import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import type { Json } from '../../model/json.ts'
import type { AnswerBody } from './answer-body.ts'
import type { Expression } from './expressions.ts'
import { type TemplateAnswer, type TemplateInput, type TemplateJob, TemplateThread } from './template-thread.ts'

export interface TemplateLimits {
  /** Longest time for all expressions of one job. Starting a worker does not count. An evaluation for one change takes microseconds. */
  readonly deadlineMs: number
  readonly workers: number
  /** Largest heap of one worker. */
  readonly memoryMb: number
}

/** A second leaves room for a very busy machine. */
const LIMITS: TemplateLimits = { deadlineMs: 1_000, workers: 2, memoryMb: 128 }
/** A deadline is counted in this many ticks: while the machine or process is suspended, at most one passes. */
const TICKS = 10

interface Pending {
  readonly job: TemplateJob
  readonly resolve: (answer: TemplateAnswer) => void
  readonly reject: (error: Error) => void
}

/** One thread and its current job. */
interface Slot {
  readonly thread: TemplateThread
  isReady: boolean
  current: Pending | null
  deadline: NodeJS.Timeout | null
}

/**
 * Evaluates the JSONata of a destination in worker threads, one job at a time in each. An expression that never ends, or uses all memory,
 * harms only its own job: its worker is killed and replaced. Workers start when they are first needed.
 */
export class Templates {
  readonly #expressions: Readonly<Record<string, string>>
  readonly #limits: TemplateLimits
  readonly #slots = new Set<Slot>()
  readonly #queue: Pending[] = []
  #closed = false

  /** @param expressions which `checkTemplates` found valid. */
  constructor(expressions: readonly Expression[], limits: Partial<TemplateLimits> = {}) {
    this.#expressions = Object.fromEntries(expressions.map(({ name, text }) => [name, text]))
    this.#limits = { ...LIMITS, ...limits }
  }

  /**
   * Evaluates the expressions of these names.
   * @param input what they see as `$`.
   * @param body what they see as `body`.
   * @returns their values in this order; null for nothing.
   * @throws PermanentError when an expression fails, does not end in time, or takes too much memory, or when the body or input cannot be
   * read.
   * @throws TransientError when they cannot be evaluated now.
   */
  async evaluate(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<Json[]> {
    const { values, problem } = await this.evaluateInTurn(names, input, body)
    if (problem !== null) throw new PermanentError(problem)
    return values
  }

  /**
   * The same, one after the other up to the first that fails.
   * @returns the values of those before it, and why it failed.
   * @throws PermanentError when an expression does not end in time or takes too much memory: then no value is known.
   * @throws TransientError when they cannot be evaluated now.
   */
  evaluateInTurn(names: readonly string[], input: TemplateInput, body: AnswerBody | null = null): Promise<TemplateAnswer> {
    if (this.#closed) return Promise.reject(new TransientError('the destination is being closed'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ job: { names, input, body }, resolve, reject })
      this.#pump()
    })
  }

  /** Ends every thread that has a job, which fails, and leaves the others to whoever is next. */
  async close(): Promise<void> {
    this.#closed = true
    this.#failAll('the destination is being closed')
    await Promise.all(
      [...this.#slots].map((slot) => {
        const isIdle = slot.isReady && slot.current === null
        this.#drop(slot, new TransientError('the destination is being closed'))
        return isIdle ? slot.thread.giveBack() : slot.thread.end()
      }),
    )
  }

  #pump(): void {
    while (this.#queue.length > 0) {
      const slots = [...this.#slots]
      const idle = slots.find((slot) => slot.isReady && slot.current === null)
      if (idle === undefined) {
        const starting = slots.some((slot) => !slot.isReady)
        if (!starting && slots.length < this.#limits.workers) this.#startOrFail()
        return
      }
      const pending = this.#queue.shift()
      if (pending !== undefined) this.#assign(idle, pending)
    }
  }

  /** A job that cannot be passed to a thread, because its input is nested too deeply for instance, fails alone. */
  #assign(slot: Slot, pending: Pending): void {
    const { job } = pending
    try {
      slot.thread.post(job)
    } catch (error) {
      pending.reject(new PermanentError(`${job.names.join(', ')} cannot be evaluated: ${messageOf(error)}`))
      return
    }
    slot.current = pending
    let ticks = 0
    slot.deadline = setInterval(() => {
      ticks += 1
      if (ticks < TICKS) return
      this.#drop(slot, new PermanentError(`${job.names.join(', ')} did not end within ${this.#limits.deadlineMs} ms`))
      void slot.thread.end()
      this.#pump()
    }, this.#limits.deadlineMs / TICKS)
  }

  #startOrFail(): void {
    try {
      this.#start()
    } catch (error) {
      this.#failAll(`templates cannot be evaluated: ${messageOf(error)}`)
    }
  }

  #start(): void {
    const thread = TemplateThread.take(this.#expressions, this.#limits.memoryMb, {
      ready: () => {
        slot.isReady = true
        this.#pump()
      },
      answered: (answer) => {
        this.#finish(slot, answer)
        this.#pump()
      },
      ended: (why) => this.#ended(slot, why),
    })
    const slot: Slot = { thread, isReady: false, current: null, deadline: null }
    this.#slots.add(slot)
  }

  #finish(slot: Slot, answer: TemplateAnswer): void {
    const pending = slot.current
    this.#free(slot)
    pending?.resolve(answer)
  }

  /** A worker ended by itself. Its current job was too much for it. Before its first job, starting failed. */
  #ended(slot: Slot, why: string): void {
    if (!this.#slots.has(slot)) return
    const names = slot.current?.job.names.join(', ')
    this.#drop(slot, new PermanentError(`${names} broke its thread, which had ${this.#limits.memoryMb} MB: ${why}`))
    if (slot.isReady) this.#pump()
    else this.#failAll(`templates cannot be evaluated: ${why}`)
  }

  /** Waiting jobs may be tried later. */
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
