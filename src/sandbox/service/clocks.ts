import type { Clock } from '../../base/clock.ts'

export const clockKinds = ['real', 'fast', 'step'] as const
export type ClockKind = (typeof clockKinds)[number]

/** A minute a second: matching takes five seconds. */
export const FAST_FACTOR = 60

/** Passes `factor` times as fast as another clock. */
export class FastClock implements Clock {
  readonly #base: Clock
  readonly #factor: number
  readonly #startMs: number
  readonly #baseStartMs: number

  /** @param startMs what it shows first, ms since the epoch. */
  constructor(base: Clock, factor: number, startMs: number) {
    this.#base = base
    this.#factor = factor
    this.#startMs = startMs
    this.#baseStartMs = base.now()
  }

  now(): number {
    return Math.floor(this.#startMs + (this.#base.now() - this.#baseStartMs) * this.#factor)
  }

  steady(): number {
    return this.#base.steady() * this.#factor
  }

  random(): number {
    return this.#base.random()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#base.sleep(ms / this.#factor, signal)
  }

  after(ms: number, action: () => void): () => void {
    return this.#base.after(ms / this.#factor, action)
  }
}

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

/** Stands still until `advance` is called. What waits on it is woken in order of time, each at its own moment. */
export class StepClock implements Clock {
  #nowMs: number
  readonly #startMs: number
  #sleepers: Sleeper[] = []
  #advancing: Promise<void> = Promise.resolve()

  /** @param startMs what it shows first, ms since the epoch. */
  constructor(startMs: number) {
    this.#nowMs = startMs
    this.#startMs = startMs
  }

  now(): number {
    return this.#nowMs
  }

  steady(): number {
    return this.#nowMs - this.#startMs
  }

  random(): number {
    return 0.5
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || ms <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      const end = () => {
        cancel()
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const cancel = this.after(ms, end)
      signal?.addEventListener('abort', end, { once: true })
    })
  }

  after(ms: number, action: () => void): () => void {
    const sleeper = { atMs: this.#nowMs + Math.max(0, ms), wake: action }
    this.#sleepers.push(sleeper)
    return () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
    }
  }

  /**
   * Lets `ms` milliseconds pass, from one waiting moment to the next.
   * @param settled resolves when nothing is going on that could still begin to wait, such as the attempt of a delivery.
   * @returns when they have passed. Calls are carried out one after the other.
   */
  advance(ms: number, settled: () => Promise<void>): Promise<void> {
    this.#advancing = this.#advancing.then(() => this.#advance(ms, settled))
    return this.#advancing
  }

  async #advance(ms: number, settled: () => Promise<void>): Promise<void> {
    const endMs = this.#nowMs + ms
    await settled()
    for (let next = this.#next(endMs); next !== null; next = this.#next(endMs)) {
      this.#nowMs = Math.max(this.#nowMs, next)
      const due = this.#sleepers.filter(({ atMs }) => atMs <= this.#nowMs)
      this.#sleepers = this.#sleepers.filter(({ atMs }) => atMs > this.#nowMs)
      for (const { wake } of due.sort((a, b) => a.atMs - b.atMs)) wake()
      await settled()
    }
    this.#nowMs = endMs
  }

  /** @returns the first moment at which something waits, up to `endMs`; null: nothing does. */
  #next(endMs: number): number | null {
    const first = this.#sleepers.reduce((least, { atMs }) => Math.min(least, atMs), Infinity)
    return first <= endMs ? first : null
  }
}

/** @param startMs what a fast or stepped clock shows first. @param factor of a fast one. */
export function createClock(kind: ClockKind, base: Clock, startMs: number, factor: number): Clock {
  if (kind === 'step') return new StepClock(startMs)
  return kind === 'fast' ? new FastClock(base, factor, startMs) : base
}
