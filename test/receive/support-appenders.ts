import type { Appender } from '../../src/receive/group-commit.ts'
import type { NewDelivery } from '../../src/store/inbox/append.ts'

interface HeldBatch {
  readonly deliveries: readonly NewDelivery[]
  end(outcomes: readonly (Error | null)[]): void
  fail(error: Error): void
}

/** A store that holds every transaction open until the test ends it, unlike any real store. */
export class HeldAppender implements Appender {
  readonly #batches: HeldBatch[] = []
  #heard = () => {}

  append(deliveries: readonly NewDelivery[]): Promise<readonly (Error | null)[]> {
    return new Promise((resolve, reject) => {
      this.#batches.push({ deliveries, end: resolve, fail: reject })
      this.#heard()
    })
  }

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
