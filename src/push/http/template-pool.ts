import type { ChildProcess } from 'node:child_process'
import { messageOf, PermanentError, TransientError } from '../../base/errors.ts'
import { startGuarded } from '../../base/guarded-process.ts'
import type { AnswerBody } from './answer-body.ts'

/** A job for a child process. The input is JSON text, because passing text is faster than passing values. */
export interface TemplateJob {
  /** In order of evaluation. */
  readonly expressions: readonly (readonly [name: string, text: string])[]
  /** The input that expressions see as `$`, as JSON text. */
  readonly input: string
  /** The answer that expressions see as `body`; null if there is none. */
  readonly body: AnswerBody | null
}

/**
 * `values` are JSON texts. If an expression failed, `values` has only the results of earlier expressions, and `problem`
 * describes the failure.
 */
export interface TemplateResult {
  readonly values: readonly string[]
  readonly problem: string | null
}

/**
 * The destination of a job. The jobs of a destination run one at a time, so a slow destination can't
 * block all children.
 */
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
  /** Ticks until the child is killed. Limits the start of the child, then each job. */
  ticksLeft: number
  idleTimer: NodeJS.Timeout | undefined
}

/** Maximum children at the same time, for all destinations together. */
const MOST_CHILDREN = 2
/** Memory limits of a child, in MB. A new child takes 80 MB, including 45 MB of shared memory. */
const [HEAP_MB, MEMORY_MB] = [64, 192]
const V8_OPTIONS = [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=4', '--v8-pool-size=1']
/** Time limits are counted in ticks. While the machine sleeps or this process is blocked, at most one tick counts. */
const TICK_MS = 50
const START_TICKS = 60_000 / TICK_MS
const IDLE_MS = 60_000

/**
 * Evaluates JSONata in child processes, which start on demand. Threads aren't safe, because a huge string in a thread
 * crashes the whole process. If a job takes too much time or memory, its child is killed. Only this job fails.
 */
class TemplatePool {
  readonly #children = new Set<Child>()
  /** Waiting jobs by destination. Destinations take turns. */
  readonly #waiting = new Map<Owner, Pending[]>()
  /** Runs while jobs exist, and keeps this process alive. Children without a job don't keep this process alive. */
  #ticker: NodeJS.Timeout | undefined

  /**
   * Evaluates a job in a child.
   * @throws PermanentError if the job takes too much time or memory.
   * @throws TransientError if the job can't be evaluated now.
   */
  evaluate(owner: Owner, job: TemplateJob, deadlineMs: number): Promise<TemplateResult> {
    return new Promise((resolve, reject) => {
      const pending = { job, deadlineMs, resolve, reject }
      const others = this.#waiting.get(owner)
      if (others === undefined) this.#waiting.set(owner, [pending])
      else others.push(pending)
      this.#assign()
    })
  }

  /** Fails a destination's jobs with a TransientError. */
  cancel(owner: Owner, why: string): void {
    const waiting = this.#waiting.get(owner) ?? []
    this.#waiting.delete(owner)
    for (const child of this.#children) if (child.running?.owner === owner) this.#end(child, new TransientError(why))
    for (const { reject } of waiting) reject(new TransientError(why))
    this.#assign()
  }

  /**
   * Gives waiting jobs to idle children. If there is no child, starts one. If a job still waits at the next tick,
   * another child starts.
   */
  #assign(): void {
    for (const child of this.#children) {
      if (!child.isReady || child.running !== null) continue
      const next = this.#next()
      if (next === null) break
      clearTimeout(child.idleTimer)
      child.running = next
      child.ticksLeft = Math.ceil(next.deadlineMs / TICK_MS) + 1
      try {
        // The callback ignores errors, because the `exit` event handles a child that has ended.
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
    // The script is a .ts file in the source and a .js file in the build.
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
      else this.#end(child, new PermanentError(`${namesIn(child.running)} did not finish within ${child.running.deadlineMs} ms`))
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

  /**
   * Handles a child that ended unexpectedly. A child that was never ready failed to start, so all waiting jobs fail.
   */
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

/**
 * @returns the error for a job whose child ended. SIGABRT and SIGTRAP mean that the job used too much memory. SIGKILL
 * means that the operating system killed the child, so a retry may succeed.
 */
function errorOf(running: Running, how: string): Error {
  const names = namesIn(running)
  if (how === 'SIGKILL') return new TransientError(`${names} could not be evaluated: the system ended the process`)
  if (how === 'SIGABRT' || how === 'SIGTRAP') return new PermanentError(`${names} took too much memory (limit: ${HEAP_MB} MB)`)
  return new PermanentError(`${names} ended its process (${how})`)
}

function namesIn({ job }: Pending): string {
  return job.expressions.map(([name]) => name).join(', ')
}
