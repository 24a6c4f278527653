/** Why something is given up: its time is over, or its signal has aborted. */
export type Cancelled = 'late' | 'stopped'

/** What can be given up. It may end by that, or have ended already. */
export interface Cancellable {
  giveUp(why: Cancelled): void
}

/**
 * What is under way, each until its time is over or its signal aborts. All that have one signal share a timer and a listener: to make both
 * for every request and to clear them away took a twentieth of what a push takes.
 */
export class InFlight {
  readonly #groups = new Map<AbortSignal, Group>()

  /** @param signal not aborted. @param timeoutMs from now on. */
  begin(what: Cancellable, signal: AbortSignal, timeoutMs: number): void {
    let group = this.#groups.get(signal)
    if (group === undefined) {
      group = new Group(signal)
      this.#groups.set(signal, group)
    }
    group.add(what, timeoutMs)
  }

  /** It has ended, and is never given up any more. */
  end(what: Cancellable, signal: AbortSignal): void {
    if (this.#groups.get(signal)?.remove(what) === 'empty') this.#groups.delete(signal)
  }
}

/** Those that have one signal. Nothing of it is left, neither timer nor listener, when none of them is. */
class Group {
  readonly #signal: AbortSignal
  /** When the time of each is over, by `performance.now()`. */
  readonly #ends = new Map<Cancellable, number>()
  #timer: NodeJS.Timeout | null = null
  #timerAt = Number.POSITIVE_INFINITY
  readonly #stop = () => this.#giveUp('stopped', Number.POSITIVE_INFINITY)

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#stop, { once: true })
  }

  add(what: Cancellable, timeoutMs: number): void {
    const at = performance.now() + timeoutMs
    this.#ends.set(what, at)
    this.#wakeAt(at)
  }

  remove(what: Cancellable): 'empty' | 'not empty' {
    this.#ends.delete(what)
    if (this.#ends.size > 0) return 'not empty'
    this.#signal.removeEventListener('abort', this.#stop)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    return 'empty'
  }

  /** An earlier timer stays as it is: it looks again. */
  #wakeAt(at: number): void {
    if (this.#timer !== null && this.#timerAt <= at) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(at - performance.now())))
  }

  #look(): void {
    this.#timer = null
    this.#giveUp('late', performance.now())
    if (this.#ends.size > 0) this.#wakeAt(Math.min(...this.#ends.values()))
  }

  #giveUp(why: Cancelled, until: number): void {
    for (const [what, at] of [...this.#ends]) {
      if (at <= until) what.giveUp(why)
    }
  }
}
