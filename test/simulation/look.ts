import Database from 'better-sqlite3'

type Row = Readonly<Record<string, unknown>>

/** Looks into a database from outside, at once: nothing of it is an event. */
export class Look {
  readonly #database: Database.Database

  constructor(path: string) {
    this.#database = new Database(path, { readonly: true })
  }

  rows<T extends Row>(text: string, ...parameters: readonly unknown[]): T[] {
    return this.#database.prepare(text).all(...parameters) as T[]
  }

  count(text: string, ...parameters: readonly unknown[]): number {
    return Number(
      this.#database
        .prepare(text)
        .pluck()
        .get(...parameters),
    )
  }

  close(): void {
    this.#database.close()
  }
}
