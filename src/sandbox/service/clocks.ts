import type { Clock } from '../../base/clock.ts'

export const clockKinds = ['real', 'fast', 'step'] as const
export type ClockKind = (typeof clockKinds)[number]

/** Default speed of a fast clock: one real second is one simulated minute. */
export const FAST_FACTOR = 60

/**
 * @param startMs start time in ms since the epoch.
 * @returns a clock that is `factor` times as fast as `base`.
 */
export function fastClock(base: Clock, factor: number, startMs: number): Clock {
  const baseStartMs = base.now()
  return {
    now: () => Math.floor(startMs + (base.now() - baseStartMs) * factor),
    steady: () => base.steady() * factor,
    random: () => base.random(),
    sleep: (ms, signal) => base.sleep(ms / factor, signal),
    after: (ms, action) => base.after(ms / factor, action),
  }
}

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

/** A clock that moves only when `advance` is called. Wakes sleepers in order, each at its own time. */
export class StepClock implements Clock {
  #nowMs: number
  readonly #startMs: number
  #sleepers: Sleeper[] = []
  #advancing: Promise<void> = Promise.resolve()

  /** @param startMs start time in ms since the epoch. */
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
   * Advances the clock by `ms`, stopping at each sleeper's time. Concurrent calls run one after another.
   * @param settled resolves when every activity, such as a delivery attempt, has ended or waits for the clock.
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

  #next(endMs: number): number | null {
    const first = this.#sleepers.reduce((least, { atMs }) => Math.min(least, atMs), Infinity)
    return first <= endMs ? first : null
  }
}

/**
 * @param startMs start time of a fast or step clock, in ms since the epoch.
 * @param factor speed of a fast clock.
 */
export function createClock(kind: ClockKind, base: Clock, startMs: number, factor: number): Clock {
  if (kind === 'step') return new StepClock(startMs)
  return kind === 'fast' ? fastClock(base, factor, startMs) : base
}
