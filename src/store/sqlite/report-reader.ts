import type { DatabaseConfig, Db } from '../engine/db.ts'
import { dbWith } from '../engine/parts.ts'
import { WorkerConnection, WorkerQuery } from './worker-thread.ts'

/**
 * Wraps the database for long reports. On SQLite, reads outside a transaction run in a worker thread, so that they block neither the event
 * loop nor deliveries. `close` ends the thread and leaves `db` open.
 */
export function openReportReader(db: Db, database: DatabaseConfig): Db {
  if (database.kind === 'postgres') return dbWith(db, { close: async () => {} })
  const connection = new WorkerConnection(database.path)
  return dbWith(db, { read: new WorkerQuery(db, connection), close: () => connection.close() })
}
