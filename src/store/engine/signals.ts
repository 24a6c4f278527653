import type { Clock } from '../../base/clock.ts'
import { WakeUp } from '../../base/wakeup.ts'

/** Wake-up topics: a new delivery, a due read, a new change, or a change to push. */
export type Topic = 'inbox' | 'reads' | 'changes' | 'outbox'

export const topics: readonly Topic[] = ['inbox', 'reads', 'changes', 'outbox']

/** Wake-ups in this process, by topic. A signal contains no data. After a signal, a waiter checks the store. */
export interface Signals {
  notify(topic: Topic): void
  /** Resolves at the next signal, after `ms` milliseconds, or when `abort` aborts, whichever comes first. */
  wait(topic: Topic, ms: number, abort: AbortSignal): Promise<void>
  /** Calls `hear` at each signal, in addition to waking the waiters. @returns a function that unsubscribes. */
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
