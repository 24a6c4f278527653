import type { Clock } from '../../base/clock.ts'

/** What can wake a service: something new in the inbox, a read that became due, a new change, or something to push. */
export type Topic = 'inbox' | 'reads' | 'changes' | 'outbox'

export const topics: readonly Topic[] = ['inbox', 'reads', 'changes', 'outbox']

/**
 * Wake-ups inside a process. A signal says only "look again"; what there is to see is in the store. A signal that comes
 * while nobody waits is kept (once), so that looking first and waiting second loses nothing. One that woke somebody is kept for nobody
 * else: of several who wait for one topic, who was at work then sees what it was about when they look the next time by themselves.
 */
export interface Signals {
  notify(topic: Topic): void
  /** Resolves at the next signal, after `ms` milliseconds, or when `abort` aborts, whichever comes first. */
  wait(topic: Topic, ms: number, abort: AbortSignal): Promise<void>
}

/** @param clock measures the waiting. */
export function createSignals(clock: Clock): Signals {
  const kept = new Set<Topic>()
  const waiters: Record<Topic, Set<() => void>> = { inbox: new Set(), reads: new Set(), changes: new Set(), outbox: new Set() }
  return {
    notify(topic) {
      if (waiters[topic].size === 0) kept.add(topic)
      for (const wake of waiters[topic]) wake()
    },
    async wait(topic, ms, abort) {
      if (abort.aborted || kept.delete(topic)) return
      const woken = new AbortController()
      const wake = () => {
        // Taken off here, not after the sleep: a signal that comes before the sleeper runs again must be kept for its next wait.
        waiters[topic].delete(wake)
        woken.abort()
      }
      waiters[topic].add(wake)
      abort.addEventListener('abort', wake, { once: true })
      await clock.sleep(ms, woken.signal)
      waiters[topic].delete(wake)
      abort.removeEventListener('abort', wake)
    },
  }
}
