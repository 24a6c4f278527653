import Database from 'better-sqlite3'
import { oracleConnections } from './globals.ts'

type Row = Readonly<Record<string, unknown>>

export class Look {
  readonly #database: Database.Database
  readonly #statements = new Map<string, Database.Statement>()

  constructor(path: string) {
    this.#database = new Database(path, { readonly: true })
    oracleConnections.add(this.#database)
  }

  rows<T extends Row>(text: string, ...parameters: readonly unknown[]): T[] {
    return this.#statement(text).all(...parameters) as T[]
  }

  count(text: string, ...parameters: readonly unknown[]): number {
    const [row] = this.rows(text, ...parameters)
    return Number(Object.values(row ?? {})[0])
  }

  close(): void {
    this.#database.close()
  }

  #statement(text: string): Database.Statement {
    const known = this.#statements.get(text) ?? this.#database.prepare(text)
    this.#statements.set(text, known)
    return known
  }
}
