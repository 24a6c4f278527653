import type { Tx } from './db.ts'
import type { Topic } from './signals.ts'

/**
 * Tells the other processes on the same Postgres database, after the commit, to look at `topic`; nothing on SQLite, and nothing
 * when the transaction rolls back. A notification may be lost with its process: who waits looks again each second anyway.
 */
export async function notifyOthers(tx: Tx, topic: Topic): Promise<void> {
  tx.notifyOthers(topic)
}
