import type { Clock } from '../../base/clock.ts'
import type { PlainObject } from '../world/plain.ts'

/** A future step of a submission, as plain data. */
export interface Due {
  /** Time in ms since the epoch. */
  readonly atMs: number
  readonly account: string
  readonly submissionId: string
  /** Kind of step, such as `quote`. `Life.carryOut` handles each kind. */
  readonly kind: string
  readonly data: PlainObject
}

/**
 * Maximum duration of one timer in ms. After each timer, the schedule reads the clock again, because the clock may have
 * been set.
 */
const LONGEST_WAIT_MS = 3_600_000

/**
 * Carries out entries in order of their time. If an entry adds another entry whose time has passed, the added entry
 * is carried out without waiting. One timer serves all entries, with any kind of clock.
 */
export class Schedule {
  readonly #clock: Clock
  readonly #carryOut: (due: Due) => void
  #entries: Due[] = []
  #cancelTimer: (() => void) | null = null
  #isClosed = false
  #isRunning = false

  /** @param carryOut called at an entry's time or later. The effects of the entry must have the time `due.atMs`. */
  constructor(clock: Clock, carryOut: (due: Due) => void) {
    this.#clock = clock
    this.#carryOut = carryOut
  }

  /** Adds an entry. Entries with the same time keep their order. */
  add(due: Due): void {
    const at = this.#entries.findIndex((other) => other.atMs > due.atMs)
    if (at === -1) this.#entries.push(due)
    else this.#entries.splice(at, 0, due)
    this.#arm()
  }

  remove(matches: (due: Due) => boolean): void {
    this.#entries = this.#entries.filter((due) => !matches(due))
    this.#arm()
  }

  /** @returns pending entries in order of their time. */
  pending(): readonly Due[] {
    return [...this.#entries]
  }

  /** Replaces all entries. Overdue entries are carried out immediately. */
  restore(entries: readonly Due[]): void {
    this.#entries = [...entries].sort((a, b) => a.atMs - b.atMs)
    this.#arm()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelTimer?.()
  }

  #arm(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const next = this.#entries[0]
    if (!next || this.#isClosed || this.#isRunning) return
    const waitMs = Math.min(Math.max(0, next.atMs - this.#clock.now()), LONGEST_WAIT_MS)
    this.#cancelTimer = this.#clock.after(waitMs, () => this.#runDue())
  }

  #runDue(): void {
    if (this.#isRunning || this.#isClosed) return
    this.#isRunning = true
    try {
      for (let next = this.#entries[0]; next && next.atMs <= this.#clock.now(); next = this.#entries[0]) {
        this.#entries.shift()
        this.#carryOut(next)
      }
    } finally {
      this.#isRunning = false
      this.#arm()
    }
  }
}
