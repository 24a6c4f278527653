import { sql } from 'kysely'
import type { Db } from '../../src/store/engine/db.ts'
import { dbWith } from '../../src/store/engine/parts.ts'
import { until } from './until.ts'

/**
 * Runs `first`, whose first transaction called `name` stays open until `second` waits for one of its locks or has ended. Postgres only.
 * @param first uses the given database for its transactions. @param second uses another handle.
 */
export async function overlap<A, B>(db: Db, name: string, first: (held: Db) => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
  const started = Promise.withResolvers<B>()
  let isHeld = false
  let isOver = false
  void started.promise.catch(() => undefined)
  const startSecond = async () => {
    try {
      started.resolve(await second())
    } catch (error) {
      started.reject(error)
    }
    isOver = true
  }
  const write: Db['write'] = (named, work, options) => {
    if (named !== name || isHeld) return db.write(named, work, options)
    isHeld = true
    const open: typeof work = async (tx) => {
      const result = await work(tx)
      void startSecond()
      const blocked = sql`select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`
      await until('the second waits for the first, or has ended', async () => isOver || (await tx.one(blocked)) !== null)
      return result
    }
    return db.write(named, open, { ...options, singleStatement: false })
  }
  const firstResult = await first(dbWith(db, { write }))
  if (!isHeld) throw new Error(`no transaction ${name} was made`)
  return [firstResult, await started.promise]
}
