import type { Db } from '../../src/store/engine/db.ts'
import { dbWith } from '../../src/store/engine/parts.ts'

/** @param around what is done in the place of each transaction, by name; `go` runs it. @returns the same database. */
export function meddled(db: Db, around: <T>(name: string, go: () => Promise<T>) => Promise<T>): Db {
  return dbWith(db, { write: (name, work, options) => around(name, () => db.write(name, work, options)) })
}

/** @param before what is done before each transaction, which is told by its name; what it throws fails that. @returns the same database. */
export function interrupted(db: Db, before: (name: string) => unknown): Db {
  return meddled(db, async (name, go) => {
    await before(name)
    return go()
  })
}
