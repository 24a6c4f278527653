import type { TimeText } from '../../model/time.ts'
import type { Candidate } from '../../store/reconcile/queue.ts'

/** More are not remembered: those that were tried the longest time ago then have their turn too early. */
const KEPT = 20_000

interface Tried {
  readonly submissionId: string
  readonly at: TimeText
}

/** Submissions that were tried without being proved: each has its turn among those that were proved about when it was tried. */
export class DeferredSubmissions {
  readonly #find: (submissionId: string) => Promise<readonly Candidate[]>
  /** By when they were tried. */
  readonly #tried: Tried[] = []

  /** @param find a submission as it is when its turn comes; none when it has no turn any more. */
  constructor(find: (submissionId: string) => Promise<readonly Candidate[]>) {
    this.#find = find
  }

  /** @returns whose turn comes because there is no more room. */
  async *add({ submissionId }: Candidate, at: TimeText): AsyncGenerator<Candidate> {
    let [low, high] = [0, this.#tried.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#tried[middle]?.at ?? '') <= at) low = middle + 1
      else high = middle
    }
    this.#tried.splice(low, 0, { submissionId, at })
    if (this.#tried.length > KEPT) yield* await this.#next()
  }

  /** @returns those that were tried before this time; null for all. */
  async *until(time: TimeText | null): AsyncGenerator<Candidate> {
    for (let first = this.#tried[0]; first && (time === null || first.at < time); first = this.#tried[0]) yield* await this.#next()
  }

  async #next(): Promise<readonly Candidate[]> {
    const next = this.#tried.shift()
    return next ? await this.#find(next.submissionId) : []
  }
}
