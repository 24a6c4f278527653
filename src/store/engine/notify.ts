import type { Tx } from './db.ts'
import type { Topic } from './signals.ts'

/**
 * After the commit, wakes whoever waits for `topic`: in this process, and in others on the same Postgres database. A notification can be
 * lost with its process; waiters poll every second anyway.
 */
export function wake(tx: Tx, topic: Topic): void {
  tx.afterCommit(() => tx.signals.notify(topic))
  tx.notifyOthers(topic)
}
