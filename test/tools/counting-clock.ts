import { ManualClock } from '../../src/base/clock.ts'

/** A clock that knows how many sleep by it. */
export class CountingClock extends ManualClock {
  sleeping = 0

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeping += 1
    await super.sleep(ms, signal)
    this.sleeping -= 1
  }
}
