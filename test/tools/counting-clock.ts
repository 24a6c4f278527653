import { ManualClock } from '../../src/base/clock.ts'

export class CountingClock extends ManualClock {
  sleeping = 0

  override after(ms: number, action: () => void): () => void {
    this.sleeping += 1
    const cancel = super.after(ms, () => {
      this.sleeping -= 1
      action()
    })
    return () => {
      this.sleeping -= 1
      cancel()
    }
  }
}
