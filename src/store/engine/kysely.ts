import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Tables } from '../schema/tables.ts'

/** Runs one compiled statement, on a connection and in a transaction that kysely doesn't manage. */
export type RunQuery = (query: CompiledQuery) => Promise<QueryResult<unknown>>

/**
 * Creates a kysely instance that only builds statements.
 * Kysely's own transactions throw, because they would bypass SQLite's write queue. Use `Db.write` instead.
 */
export function createKysely(kind: 'sqlite' | 'postgres', run: RunQuery): Kysely<Tables> {
  const sqlite = kind === 'sqlite'
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => (sqlite ? new SqliteAdapter() : new PostgresAdapter()),
      createDriver: () => new RunnerDriver(run),
      createIntrospector: (db) => (sqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db)),
      createQueryCompiler: () => (sqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
    },
  })
}

class RunnerDriver implements Driver {
  readonly #connection: DatabaseConnection

  constructor(run: RunQuery) {
    this.#connection = {
      executeQuery: async <R>(query: CompiledQuery) => (await run(query)) as QueryResult<R>,
      streamQuery: () => {
        throw new Error('Rows are not streamed: read them page by page')
      },
    }
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }

  async beginTransaction(): Promise<void> {
    throw new Error('Only Db.write begins transactions')
  }

  async init(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async destroy(): Promise<void> {}
}
