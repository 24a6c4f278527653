const MAX_WAITING = 32

/** Lets one piece of costly work through at a time, and other work between two of them. */
export class Semaphore {
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  /** @returns what `work` returns, or null when too many wait already. */
  async pass<T>(work: () => T): Promise<T | null> {
    if (this.#waiting >= MAX_WAITING) return null
    this.#waiting += 1
    const turn = this.#last.then(() => new Promise<void>((resolve) => setImmediate(resolve)))
    const done = turn.then(work)
    this.#last = done.catch(() => {})
    try {
      return await done
    } finally {
      this.#waiting -= 1
    }
  }
}
