import type { DatabaseConfig, Db } from '../engine/db.ts'
import { dbWith } from '../engine/parts.ts'
import { WorkerConnection, WorkerQuery } from './worker-thread.ts'

/**
 * The same database, but on SQLite reads outside a transaction run in a worker thread, so that a long report blocks neither the event loop nor a
 * delivery (invariant 13). `close` ends the thread and leaves `db` open.
 */
export function openReportReader(db: Db, database: DatabaseConfig): Db {
  if (database.kind === 'postgres') return dbWith(db, { close: async () => {} })
  const connection = new WorkerConnection(database.path)
  return dbWith(db, { read: new WorkerQuery(db, connection), close: () => connection.close() })
}
