import type { Clock } from '../../base/clock.ts'
import type { PlanStep, World } from './world.ts'

/** A step of a submission. `atMs` is the time in ms since the story's start, at speed 1. */
export interface TimedStep extends PlanStep {
  readonly account: string
  readonly submissionId: string
}

export interface StoryProgress {
  readonly played: number
  readonly total: number
  readonly running: boolean
  readonly ended: boolean
}

interface StoryState {
  readonly steps: readonly TimedStep[]
  readonly next: number
  readonly elapsedMs: number
}

/**
 * Plays steps by a timer (`start`, `pause`) or one at a time (`step`). The timer gives each step its planned time, so
 * that the same seed and start give the same data. `step` gives the step the current time.
 */
export class Story {
  #steps: readonly TimedStep[]
  readonly #world: World
  readonly #clock: Clock
  readonly #speed: number
  #end = Promise.withResolvers<void>()
  readonly #onStep: (step: TimedStep) => void
  #next = 0
  /** Story time until the last pause, in ms. */
  #elapsedMs = 0
  #run: { readonly stop: AbortController; readonly startedAtMs: number } | null = null

  constructor(steps: readonly TimedStep[], options: { world: World; clock: Clock; speed: number; onStep: (step: TimedStep) => void }) {
    this.#steps = [...steps].sort((a, b) => a.atMs - b.atMs)
    this.#world = options.world
    this.#clock = options.clock
    this.#speed = options.speed
    this.#onStep = options.onStep
    if (this.#steps.length === 0) this.#end.resolve()
  }

  /** Resolves after the last step. */
  get ended(): Promise<void> {
    return this.#end.promise
  }

  progress(): StoryProgress {
    const total = this.#steps.length
    return { played: this.#next, total, running: this.#run !== null, ended: this.#next === total }
  }

  /** Starts or continues the timer. */
  start(): void {
    if (this.#run) return
    const run = { stop: new AbortController(), startedAtMs: this.#clock.now() }
    this.#run = run
    void this.#play(run.startedAtMs, run.stop.signal)
  }

  /** Stops the timer. `start` continues it. */
  pause(): void {
    if (!this.#run) return
    this.#elapsedMs += (this.#clock.now() - this.#run.startedAtMs) * this.#speed
    this.#run.stop.abort()
    this.#run = null
  }

  /**
   * Plays the next step now.
   * @returns the step; null if the story has ended.
   */
  step(): TimedStep | null {
    return this.#playNext(this.#clock.now())
  }

  /** @returns the steps and the story time so far. The story advances only while a process runs. */
  toState(): StoryState {
    const runningMs = this.#run ? (this.#clock.now() - this.#run.startedAtMs) * this.#speed : 0
    return { steps: this.#steps, next: this.#next, elapsedMs: this.#elapsedMs + runningMs }
  }

  fromState({ steps, next, elapsedMs }: StoryState): void {
    this.#steps = steps
    this.#next = next
    this.#elapsedMs = elapsedMs
    if (next < steps.length) this.#end = Promise.withResolvers<void>()
  }

  async #play(startedAtMs: number, signal: AbortSignal): Promise<void> {
    const elapsedMs = this.#elapsedMs
    for (let step = this.#steps[this.#next]; step; step = this.#steps[this.#next]) {
      const dueMs = startedAtMs + Math.max(0, step.atMs - elapsedMs) / this.#speed
      if (dueMs > this.#clock.now()) await this.#clock.sleep(dueMs - this.#clock.now(), signal)
      if (signal.aborted) return
      // The timer may fire early, or a call of `step` may have played this step already.
      if (dueMs <= this.#clock.now() && this.#steps[this.#next] === step) this.#playNext(dueMs)
    }
    this.#run = null
  }

  #playNext(atMs: number): TimedStep | null {
    const step = this.#steps[this.#next]
    if (!step) return null
    this.#next++
    this.#world.play(step.account, step.submissionId, step.actions, atMs)
    this.#onStep(step)
    if (this.#next === this.#steps.length) this.#end.resolve()
    return step
  }
}
