import type { CompiledQuery } from 'kysely'
import type { Db, Query } from '../../src/store/engine/db.ts'
import { createKysely } from '../../src/store/engine/kysely.ts'
import { dbWith } from '../../src/store/engine/parts.ts'

/** @param around replaces each transaction, by name; `go` runs it. @returns the same database. */
export function meddled(db: Db, around: <T>(name: string, go: () => Promise<T>) => Promise<T>): Db {
  return dbWith(db, { write: (name, work, options) => around(name, () => db.write(name, work, options)) })
}

/** @param before runs before each transaction, with its name; an error fails the transaction. @returns the same database. */
export function interrupted(db: Db, before: (name: string) => unknown): Db {
  return meddled(db, async (name, go) => {
    await before(name)
    return go()
  })
}

/** @param before runs before each query outside of a transaction. @returns the same database. */
export function readsInterrupted(db: Db, before: (query: CompiledQuery) => unknown): Db {
  const sql = createKysely(db.kind, async (query) => {
    await before(query)
    return await db.read.sql.executeQuery(query)
  })
  const read: Query = Object.assign(Object.create(db.read), {
    sql,
    selectMany: (...given: Parameters<Query['selectMany']>) => db.read.selectMany(...given),
    selectWhere: (...given: Parameters<Query['selectWhere']>) => db.read.selectWhere(...given),
    selectOfSubmissions: (...given: Parameters<Query['selectOfSubmissions']>) => db.read.selectOfSubmissions(...given),
  })
  return dbWith(db, { read })
}
