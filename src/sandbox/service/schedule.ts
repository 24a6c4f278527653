import type { Clock } from '../../base/clock.ts'
import type { PlainObject } from '../world/plain.ts'

/** Something that happens to a submission later. Plain data, so that a state file can keep it. */
export interface Due {
  /** When it happens, ms since the epoch. */
  readonly atMs: number
  readonly account: string
  readonly submissionId: string
  /** What happens; the owner of the schedule knows the kinds. */
  readonly kind: string
  /** What the kind needs beside the submission. */
  readonly data: PlainObject
}

/** A clock that moves only when told to. */
export interface SteppedClock extends Clock {
  advance(ms: number): void
}

/** An hour at a time: a timer must not be longer than a day, and a system clock that was set shows within the hour. */
const LONGEST_WAIT_MS = 3_600_000

/**
 * What is due later, carried out in order of time when the clock reaches it, each at its own moment: an entry that another one adds inside
 * the time that has passed already is carried out in the same turn. One timer of the clock serves all entries, so that a real, a fast and a
 * stepped clock are served alike.
 */
export class Schedule {
  readonly #clock: Clock
  readonly #carryOut: (due: Due) => void
  #entries: Due[] = []
  #cancelTimer: (() => void) | null = null
  #isClosed = false
  #isRunning = false

  /** @param carryOut called at the time of an entry, or later; what happens, happens at `due.atMs`. */
  constructor(clock: Clock, carryOut: (due: Due) => void) {
    this.#clock = clock
    this.#carryOut = carryOut
  }

  /** Entries of the same time are carried out in the order in which they were added. */
  add(due: Due): void {
    const at = this.#entries.findIndex((other) => other.atMs > due.atMs)
    if (at === -1) this.#entries.push(due)
    else this.#entries.splice(at, 0, due)
    this.#arm()
  }

  /** Drops the entries that match. */
  remove(matches: (due: Due) => boolean): void {
    this.#entries = this.#entries.filter((due) => !matches(due))
    this.#arm()
  }

  /** @returns what is not carried out yet, in order of time. */
  pending(): readonly Due[] {
    return [...this.#entries]
  }

  /** Replaces all entries, as read from a state file. What was due meanwhile is carried out at once. */
  restore(entries: readonly Due[]): void {
    this.#entries = [...entries].sort((a, b) => a.atMs - b.atMs)
    this.#arm()
  }

  /**
   * Lets time pass on a stepped clock, from one entry to the next, so that all else that waits on the clock keeps its place between them.
   * @param clock the clock that the schedule was made with.
   */
  advance(clock: SteppedClock, ms: number): void {
    const endMs = clock.now() + ms
    for (let next = this.#entries[0]; next && next.atMs <= endMs; next = this.#entries[0]) {
      clock.advance(Math.max(0, next.atMs - clock.now()))
      this.#runDue()
    }
    clock.advance(endMs - clock.now())
  }

  /** Carries out nothing any more. */
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
