import type { Tx } from './db.ts'
import type { Topic } from './signals.ts'

/**
 * After the commit, wakes everything that waits for `topic`, in all processes of this database.
 * A lost notification only causes a delay, because waiters also poll every second.
 */
export function wake(tx: Tx, topic: Topic): void {
  tx.afterCommit(() => tx.signals.notify(topic))
  tx.notifyOthers(topic)
}
