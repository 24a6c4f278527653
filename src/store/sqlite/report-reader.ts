import type { DatabaseConfig, Db } from '../engine/db.ts'
import { WorkerConnection, WorkerQuery } from './worker-thread.ts'

/**
 * The same database, but on SQLite whatever is read outside a transaction is read in a thread of its own, so that a look at much holds up
 * neither the event loop nor a delivery (invariant 13). The thread starts with the first look.
 * `close` ends the thread and leaves `db` open.
 */
export function openReportReader(db: Db, database: DatabaseConfig): Db {
  const { kind, processId, clock, signals } = db
  const connection = database.kind === 'sqlite' ? new WorkerConnection(database.path) : null
  return {
    ...{ kind, processId, clock, signals },
    read: connection ? new WorkerQuery(db, connection) : db.read,
    write: (name, work, options) => db.write(name, work, options),
    listen: (signal) => db.listen(signal),
    close: async () => await connection?.close(),
  }
}
