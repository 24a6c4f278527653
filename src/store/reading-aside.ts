import type { Kysely, QueryResult } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Row } from '../model/entities.ts'
import type { DatabaseConfig, Db, Query, TableSpec } from './db.ts'
import { kyselyOver } from './kysely-over.ts'
import type { Signals } from './signals.ts'
import { AsideConnection, type AsideOrder } from './sqlite-aside.ts'
import { sqliteError } from './sqlite-errors.ts'
import type { Tables } from './tables.ts'

/**
 * The same database, but on SQLite whatever is read outside a transaction is read in a thread of its own, so that a look at much holds up
 * neither the event loop nor a delivery (invariant 13). The thread starts with the first look.
 * `close` ends the thread and leaves `db` open.
 */
export function readingAside(db: Db, database: DatabaseConfig): Db {
  const { kind, clock, signals } = db
  const connection = database.kind === 'sqlite' ? new AsideConnection(database.path) : null
  return {
    ...{ kind, clock, signals },
    read: connection && database.kind === 'sqlite' ? new AsideQuery(db, connection, database.path) : db.read,
    write: (name, work, options) => db.write(name, work, options),
    listen: (signal) => db.listen(signal),
    close: async () => await connection?.close(),
  }
}

class AsideQuery implements Query {
  readonly sql: Kysely<Tables>
  readonly kind = 'sqlite'
  readonly clock: Clock
  readonly signals: Signals
  readonly #connection: AsideConnection
  readonly #path: string

  constructor(db: Db, connection: AsideConnection, path: string) {
    this.clock = db.clock
    this.signals = db.signals
    this.#connection = connection
    this.#path = path
    this.sql = kyselyOver('sqlite', async ({ sql, parameters }) => {
      const result = await this.#ask<QueryResult<Record<string, unknown>>>({ do: 'run', query: { sql, parameters } })
      return { ...result, rows: result.rows.map(withBuffers) }
    })
  }

  selectMany(table: TableSpec, keys: readonly Row[]): Promise<Row[]> {
    return this.#ask({ do: 'selectMany', table, keys })
  }

  selectWhere(table: TableSpec, where: Row): Promise<Row[]> {
    return this.#ask({ do: 'selectWhere', table, where })
  }

  async selectOfSubmissions(table: TableSpec, account: string, submissionIds: readonly string[], limit: number): Promise<Row[]> {
    const found: Row[] = []
    for (const submission_id of submissionIds) {
      found.push(...(await this.#ask<Row[]>({ do: 'selectWhere', table, where: { account, submission_id }, limit })))
    }
    return found
  }

  async #ask<T>(order: AsideOrder): Promise<T> {
    try {
      return await this.#connection.ask<T>(order)
    } catch (error) {
      throw sqliteError(error, this.#path)
    }
  }
}

/** On its way out of a thread a Buffer becomes a plain Uint8Array. */
function withBuffers(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof Uint8Array) row[name] = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  }
  return row
}
