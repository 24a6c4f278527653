import type { DatabaseConfig, Db } from '../engine/db.ts'
import { dbWith } from '../engine/parts.ts'
import { WorkerConnection, WorkerQuery } from './worker-thread.ts'

/**
 * Wraps a database for long reports. On SQLite, reads outside a transaction then run in a worker thread, so that they
 * don't block the event loop and deliveries.
 * @returns the wrapped database. Its `close` ends the thread and leaves `db` open.
 */
export function openReportReader(db: Db, database: DatabaseConfig): Db {
  if (database.kind === 'postgres') return dbWith(db, { close: async () => {} })
  const connection = new WorkerConnection(database.path)
  return dbWith(db, { read: new WorkerQuery(db, connection), close: () => connection.close() })
}
