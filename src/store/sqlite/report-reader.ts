import type { DatabaseConfig, Db } from '../engine/db.ts'
import { AsideConnection, AsideQuery } from './worker-thread.ts'

/**
 * The same database, but on SQLite whatever is read outside a transaction is read in a thread of its own, so that a look at much holds up
 * neither the event loop nor a delivery (invariant 13). The thread starts with the first look.
 * `close` ends the thread and leaves `db` open.
 */
export function readingAside(db: Db, database: DatabaseConfig): Db {
  const { kind, processId, clock, signals } = db
  const connection = database.kind === 'sqlite' ? new AsideConnection(database.path) : null
  return {
    ...{ kind, processId, clock, signals },
    read: connection ? new AsideQuery(db, connection) : db.read,
    write: (name, work, options) => db.write(name, work, options),
    listen: (signal) => db.listen(signal),
    close: async () => await connection?.close(),
  }
}
