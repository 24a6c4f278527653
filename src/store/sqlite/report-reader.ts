import type { DatabaseConfig, Db } from '../engine/db.ts'
import { WorkerConnection, WorkerQuery } from './worker-thread.ts'

/**
 * The same database, but on SQLite reads outside a transaction run in a worker thread, so that a long report blocks neither the event loop
 * nor a delivery (invariant 13). The thread starts with the first read. `close` ends the thread and leaves `db` open.
 */
export function openReportReader(db: Db, database: DatabaseConfig): Db {
  const { kind, processId, clock, signals, protection, listsDocuments, seen } = db
  const connection = database.kind === 'sqlite' ? new WorkerConnection(database.path) : null
  return {
    kind,
    processId,
    clock,
    signals,
    protection,
    listsDocuments,
    seen,
    read: connection ? new WorkerQuery(db, connection) : db.read,
    write: (name, work, options) => db.write(name, work, options),
    listen: (signal) => db.listen(signal),
    close: async () => await connection?.close(),
  }
}
