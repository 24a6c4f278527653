import type { Clock } from '../../base/clock.ts'
import { WakeUp } from '../../base/wakeup.ts'

/** What can wake a service: something new in the inbox, a read that became due, a new change, or something to push. */
export type Topic = 'inbox' | 'reads' | 'changes' | 'outbox'

export const topics: readonly Topic[] = ['inbox', 'reads', 'changes', 'outbox']

/** Wake-ups inside a process, by topic. They say only "look again": what there is to see is in the store. */
export interface Signals {
  notify(topic: Topic): void
  /** Resolves at the next signal, after `ms` milliseconds, or when `abort` aborts, whichever comes first. */
  wait(topic: Topic, ms: number, abort: AbortSignal): Promise<void>
  /**
   * Calls `hear` at each signal. Unlike one that waits, it takes no signal from those that wait and look away for a moment.
   * @returns a function that ends it.
   */
  subscribe(hear: (topic: Topic) => void): () => void
}

/** @param clock measures the waiting. */
export function createSignals(clock: Clock): Signals {
  const wakeUps = Object.fromEntries(topics.map((topic) => [topic, new WakeUp(clock)])) as Record<Topic, WakeUp>
  const hearers = new Set<(topic: Topic) => void>()
  return {
    notify(topic) {
      wakeUps[topic].notify()
      for (const hear of hearers) hear(topic)
    },
    subscribe(hear) {
      hearers.add(hear)
      return () => void hearers.delete(hear)
    },
    async wait(topic, ms, abort) {
      await wakeUps[topic].wait(ms, abort)
    },
  }
}
