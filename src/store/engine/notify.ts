import type { Tx } from './db.ts'
import type { Topic } from './signals.ts'

/**
 * After the commit, wakes waiters for `topic` in all processes on this database. A lost notification only causes a delay, because waiters
 * poll every second.
 */
export function wake(tx: Tx, topic: Topic): void {
  tx.afterCommit(() => tx.signals.notify(topic))
  tx.notifyOthers(topic)
}
