import type { ChildProcess } from 'node:child_process'
import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import { startGuarded } from '../../base/guarded-process.ts'
import type { AnswerBody } from './answer-body.ts'

/** A job for a child process. Contains JSON texts, which are cheaper to pass than values. */
export interface TemplateJob {
  /** In order of evaluation. */
  readonly expressions: readonly (readonly [name: string, text: string])[]
  /** JSON text of the `$` of expressions. */
  readonly input: string
  /** The answer that expressions see as `body`. */
  readonly body: AnswerBody | null
}

/** JSON texts of the values. If an expression failed: the values before it, and its problem. */
export interface TemplateResult {
  readonly values: readonly string[]
  readonly problem: string | null
}

/** A destination. Its jobs run one at a time, so that a slow destination leaves a child to others. */
type Owner = object

interface Pending {
  readonly job: TemplateJob
  readonly deadlineMs: number
  readonly resolve: (result: TemplateResult) => void
  readonly reject: (error: Error) => void
}

interface Running extends Pending {
  readonly owner: Owner
}

interface Child {
  readonly process: ChildProcess
  isReady: boolean
  running: Running | null
  /** Ticks until the child is killed: first its start, then its job. */
  ticksLeft: number
  idleTimer: NodeJS.Timeout | undefined
}

/** Maximum children, for all destinations together. */
const MOST_CHILDREN = 2
/** A new child takes 80 MB, including 45 MB of shared memory. */
const [HEAP_MB, MEMORY_MB] = [64, 192]
const V8_OPTIONS = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', '--v8-pool-size=1']
/** At most one tick passes while the machine sleeps or this process is blocked. */
const TICK_MS = 50
const START_TICKS = 60_000 / TICK_MS
const IDLE_MS = 60_000

/**
 * Evaluates JSONata in child processes, which start on demand. Threads aren't enough, because a huge string crashes the whole process. A
 * child that takes too much time or memory is killed, and only its job fails.
 */
class TemplatePool {
  readonly #children = new Set<Child>()
  /** Jobs, in round-robin order. */
  readonly #waiting = new Map<Owner, Pending[]>()
  /** Runs while jobs exist, and keeps this process alive. Children don't. */
  #ticker: NodeJS.Timeout | undefined

  /** @throws PermanentError if the job takes too much time or memory; TransientError if it can't be evaluated now. */
  evaluate(owner: Owner, job: TemplateJob, deadlineMs: number): Promise<TemplateResult> {
    return new Promise((resolve, reject) => {
      const pending = { job, deadlineMs, resolve, reject }
      const others = this.#waiting.get(owner)
      if (others === undefined) this.#waiting.set(owner, [pending])
      else others.push(pending)
      this.#assign()
    })
  }

  /** Fails an owner's jobs with a TransientError. */
  cancel(owner: Owner, why: string): void {
    const waiting = this.#waiting.get(owner) ?? []
    this.#waiting.delete(owner)
    for (const child of this.#children) if (child.running?.owner === owner) this.#end(child, new TransientError(why))
    for (const { reject } of waiting) reject(new TransientError(why))
    this.#assign()
  }

  /** Gives waiting jobs to idle children. Starts a child for the first job; a job that waits for a tick starts another. */
  #assign(): void {
    for (const child of this.#children) {
      if (!child.isReady || child.running !== null) continue
      const next = this.#next()
      if (next === null) break
      clearTimeout(child.idleTimer)
      child.running = next
      child.ticksLeft = Math.ceil(next.deadlineMs / TICK_MS) + 1
      try {
        // If the child has ended, `exit` reports it.
        child.process.send(next.job, () => {})
      } catch (error) {
        this.#end(child, new PermanentError(`${namesIn(next)} cannot be evaluated: ${messageOf(error)}`))
      }
    }
    if (this.#waiting.size > 0 && this.#children.size === 0) this.#start()
    this.#tickWhileBusy()
  }

  #next(): Running | null {
    const busy = new Set([...this.#children].map(({ running }) => running?.owner))
    for (const [owner, jobs] of this.#waiting) {
      const [job] = jobs
      if (job === undefined || busy.has(owner)) continue
      jobs.shift()
      this.#waiting.delete(owner)
      if (jobs.length > 0) this.#waiting.set(owner, jobs)
      return { ...job, owner }
    }
    return null
  }

  #start(): void {
    // Source files end in .ts, built files in .js.
    const script = import.meta.url.endsWith('.ts') ? './template-process.ts' : './template-process.js'
    let started: ChildProcess
    try {
      started = startGuarded(new URL(script, import.meta.url), { env: {}, v8: V8_OPTIONS, memoryMb: MEMORY_MB, stderr: 'ignore' })
    } catch (error) {
      this.#failWaiting(messageOf(error))
      return
    }
    const child: Child = { process: started, isReady: false, running: null, ticksLeft: START_TICKS, idleTimer: undefined }
    this.#children.add(child)
    started.unref()
    started.channel?.unref()
    started.on('message', (message: TemplateResult | 'ready') => {
      if (!this.#children.has(child)) return
      const { running } = child
      child.isReady = true
      child.running = null
      child.idleTimer = setTimeout(() => this.#end(child), IDLE_MS).unref()
      if (message !== 'ready') running?.resolve(message)
      this.#assign()
    })
    started.on('error', (error) => this.#ended(child, messageOf(error)))
    started.on('exit', (code, signal) => this.#ended(child, signal ?? `exit code ${code}`))
  }

  #tick(): void {
    for (const child of this.#children) {
      if (child.isReady && child.running === null) continue
      child.ticksLeft -= 1
      if (child.ticksLeft > 0) continue
      if (child.running === null) this.#ended(child, `it did not start within ${(START_TICKS * TICK_MS) / 1_000} s`)
      else this.#end(child, new PermanentError(`${namesIn(child.running)} did not end within ${child.running.deadlineMs} ms`))
    }
    const isStarting = [...this.#children].some(({ isReady }) => !isReady)
    if (this.#waiting.size > 0 && !isStarting && this.#children.size < MOST_CHILDREN) this.#start()
    this.#assign()
  }

  #tickWhileBusy(): void {
    const isBusy = this.#waiting.size > 0 || [...this.#children].some(({ running }) => running !== null)
    if (isBusy) this.#ticker ??= setInterval(() => this.#tick(), TICK_MS)
    else {
      clearInterval(this.#ticker)
      this.#ticker = undefined
    }
  }

  /** A child ended unexpectedly. If it was never ready, it failed to start. */
  #ended(child: Child, how: string): void {
    if (!this.#children.has(child)) return
    const { running, isReady } = child
    this.#end(child, running === null ? undefined : errorOf(running, how))
    if (isReady) this.#assign()
    else this.#failWaiting(how)
  }

  #end(child: Child, error?: Error): void {
    this.#children.delete(child)
    clearTimeout(child.idleTimer)
    child.process.kill('SIGKILL')
    if (error !== undefined) child.running?.reject(error)
    child.running = null
  }

  #failWaiting(why: string): void {
    const waiting = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    for (const { reject } of waiting) reject(new TransientError(`templates cannot be evaluated: ${why}`))
    this.#tickWhileBusy()
  }
}

export const templatePool = new TemplatePool()

/** V8 and `guard` abort a process that uses too much memory. Other signals come from outside. */
function errorOf(running: Running, how: string): Error {
  const names = namesIn(running)
  if (how === 'SIGKILL') return new TransientError(`${names} could not be evaluated: the system ended the process`)
  if (how === 'SIGABRT' || how === 'SIGTRAP') return new PermanentError(`${names} took too much memory (limit: ${HEAP_MB} MB)`)
  return new PermanentError(`${names} ended its process (${how})`)
}

function namesIn({ job }: Pending): string {
  return job.expressions.map(([name]) => name).join(', ')
}
