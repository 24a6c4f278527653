import type { Clock } from '../../base/clock.ts'
import type { PlanStep, World } from './world.ts'

/** A step of some submission's plan on the common timeline: `atMs` counts from the start of the story. */
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

/**
 * Plays a timeline into the world: by itself from `start` until `pause`, `speed` times as fast as it was written, or
 * step by step by hand. Told by hand, a step happens at the time now; told by itself, at its own time, so that the same
 * seed and start give the same history to the microsecond.
 */
export class Story {
  readonly #steps: readonly TimedStep[]
  readonly #world: World
  readonly #clock: Clock
  readonly #speed: number
  readonly #end = Promise.withResolvers<void>()
  readonly #onStep: (step: TimedStep) => void
  #next = 0
  /** Story time that has passed in earlier runs. */
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

  /** Resolves when the last step was played. */
  get ended(): Promise<void> {
    return this.#end.promise
  }

  progress(): StoryProgress {
    const total = this.#steps.length
    return { played: this.#next, total, running: this.#run !== null, ended: this.#next === total }
  }

  /** Lets the story run from where it stands; nothing when it runs already. */
  start(): void {
    if (this.#run) return
    const run = { stop: new AbortController(), startedAtMs: this.#clock.now() }
    this.#run = run
    void this.#play(run.startedAtMs, run.stop.signal)
  }

  /** Stops after the step in hand; `start` goes on from there. */
  pause(): void {
    if (!this.#run) return
    this.#elapsedMs += (this.#clock.now() - this.#run.startedAtMs) * this.#speed
    this.#run.stop.abort()
    this.#run = null
  }

  /** Plays the next step now, whatever its time. @returns it, or null when the story is over. */
  step(): TimedStep | null {
    return this.#playNext(this.#clock.now())
  }

  async #play(startedAtMs: number, signal: AbortSignal): Promise<void> {
    const elapsedMs = this.#elapsedMs
    for (let step = this.#steps[this.#next]; step; step = this.#steps[this.#next]) {
      const dueMs = startedAtMs + Math.max(0, step.atMs - elapsedMs) / this.#speed
      if (dueMs > this.#clock.now()) await this.#clock.sleep(dueMs - this.#clock.now(), signal)
      if (signal.aborted) return
      // A timer may wake a moment early, or a hand have played the step meanwhile: then the loop looks again.
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
