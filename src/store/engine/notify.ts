import type { Tx } from './db.ts'
import type { Topic } from './signals.ts'

/**
 * After the commit, wakes waiters for `topic` in this process and in others on the same Postgres database. A lost notification only delays
 * them: waiters poll every second anyway.
 */
export function wake(tx: Tx, topic: Topic): void {
  tx.afterCommit(() => tx.signals.notify(topic))
  tx.notifyOthers(topic)
}
