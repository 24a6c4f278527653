import type { Appender } from '../../src/receive/group-commit.ts'
import type { NewDelivery } from '../../src/store/inbox/append.ts'

/** One transaction that the store was asked for, and that ends when the test says so. */
export interface HeldBatch {
  readonly deliveries: readonly NewDelivery[]
  end(outcomes: readonly (Error | null)[]): void
  fail(error: Error): void
}

/** A store that holds every transaction open until the test ends it: what no real store can be made to do. */
export class HeldAppender implements Appender {
  readonly #batches: HeldBatch[] = []
  #heard = () => {}

  append(deliveries: readonly NewDelivery[]): Promise<readonly (Error | null)[]> {
    return new Promise((resolve, reject) => {
      this.#batches.push({ deliveries, end: resolve, fail: reject })
      this.#heard()
    })
  }

  /** The next transaction, once it has begun. */
  async next(): Promise<HeldBatch> {
    for (;;) {
      const batch = this.#batches.shift()
      if (batch) return batch
      await new Promise<void>((resolve) => {
        this.#heard = resolve
      })
    }
  }
}
