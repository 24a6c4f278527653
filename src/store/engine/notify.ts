import type { Tx } from './db.ts'
import type { Topic } from './signals.ts'

/**
 * Has whoever waits for `topic` look, after the commit: in this process, and in the others on the same Postgres database; nobody when the
 * transaction rolls back. A notification may be lost with its process: who waits looks again each second anyway.
 */
export function wake(tx: Tx, topic: Topic): void {
  tx.afterCommit(() => tx.signals.notify(topic))
  tx.notifyOthers(topic)
}
