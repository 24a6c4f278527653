import type { TimeText } from '../../model/time.ts'
import type { Candidate } from '../../store/reconcile/queue.ts'

/** Limit on memory. When it is reached, the submission with the oldest visit is checked earlier than its turn. */
const MAX_DEFERRED = 20_000

interface Deferred {
  readonly submissionId: string
  readonly at: TimeText
}

/**
 * Submissions whose last visit did not prove them, ordered by the time of that visit. Each is checked together with those that were proved
 * at about that time, so that a submission which can never be proved does not come first in every run.
 */
export class DeferredSubmissions {
  readonly #find: (submissionId: string) => Promise<readonly Candidate[]>
  /** Ordered by `at`. */
  readonly #deferred: Deferred[] = []

  /** @param find loads a submission again when its turn comes; empty when it needs no check any more. */
  constructor(find: (submissionId: string) => Promise<readonly Candidate[]>) {
    this.#find = find
  }

  /** @param at when it was last visited. @returns the submission that has to make room for it, if any. */
  async *add({ submissionId }: Candidate, at: TimeText): AsyncGenerator<Candidate> {
    let [low, high] = [0, this.#deferred.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#deferred[middle]?.at ?? '') <= at) low = middle + 1
      else high = middle
    }
    this.#deferred.splice(low, 0, { submissionId, at })
    if (this.#deferred.length > MAX_DEFERRED) yield* await this.#next()
  }

  /** @returns those last visited before `time`; null: all. */
  async *until(time: TimeText | null): AsyncGenerator<Candidate> {
    for (let first = this.#deferred[0]; first && (time === null || first.at < time); first = this.#deferred[0]) yield* await this.#next()
  }

  async #next(): Promise<readonly Candidate[]> {
    const next = this.#deferred.shift()
    return next ? await this.#find(next.submissionId) : []
  }
}
