import type { Tx } from './db.ts'
import type { Topic } from './signals.ts'

/**
 * After the commit, wakes all code that waits for `topic`, in all processes that use this database.
 * If a notification is lost, the waiters are only delayed, because they also poll every second.
 */
export function wake(tx: Tx, topic: Topic): void {
  tx.afterCommit(() => tx.signals.notify(topic))
  tx.notifyOthers(topic)
}
