import type { Clock } from '../../base/clock.ts'
import { WakeUp } from '../../base/wakeup.ts'

/** What can wake a service: a new delivery, a read that became due, a new change, or something to push. */
export type Topic = 'inbox' | 'reads' | 'changes' | 'outbox'

export const topics: readonly Topic[] = ['inbox', 'reads', 'changes', 'outbox']

/** Wake-ups inside a process, by topic. They only mean "look again" in the store. */
export interface Signals {
  notify(topic: Topic): void
  /** Resolves at the next signal, after `ms` milliseconds, or when `abort` aborts, whichever comes first. */
  wait(topic: Topic, ms: number, abort: AbortSignal): Promise<void>
  /** Calls `hear` at each signal, without taking signals from waiters. @returns a function that ends it. */
  subscribe(hear: (topic: Topic) => void): () => void
}

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
