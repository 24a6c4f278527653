import type { KyselyPlugin } from 'kysely'
import type { Row } from '../../src/model/entity.ts'
import type { Db, Query, TableSpec, Tx, WriteOptions } from '../../src/store/engine/db.ts'
import { Statements } from '../../src/store/engine/parts.ts'
import type { Scheduler } from './scheduler.ts'

/** Longest duration of a statement, including its way. */
const STATEMENT_MS = 3
/** Share of statements with a pause before them. Pausing at each would take twice as long and find no more. */
const PAUSE_SHARE = 0.5

/** A database in which every statement is an event: others run in between, and the process may crash there. A commit is one step. */
export function interleaved(db: Db, scheduler: Scheduler): Db {
  const pause = async (what: string) => {
    if (scheduler.prng.chance(PAUSE_SHARE)) await scheduler.pause(STATEMENT_MS, what)
  }
  return instead(db, {
    read: pausingQuery(db.read, () => pause('read')),
    async write<T>(name: string, work: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T> {
      await pause(`begin ${name}`)
      const result = await db.write(name, (tx) => work(pausingTx(tx, () => pause(`in ${name}`))), options)
      scheduler.onCommit(name)
      await pause(`committed ${name}`)
      return result
    },
  })
}

type Pause = () => Promise<void>

function pausingQuery<Q extends Query>(query: Q, pause: Pause): Q {
  const paused = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work
    await pause()
    return result
  }
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      await pause()
      return result
    },
  }
  const changed: Partial<Query> = {
    sql: query.sql.withPlugin(plugin),
    selectMany: (table, keys, options) => paused(query.selectMany(table, keys, options)),
    selectWhere: (table, where) => paused(query.selectWhere(table, where)),
    selectOfSubmissions: (table, account, ids, limit) => paused(query.selectOfSubmissions(table, account, ids, limit)),
  }
  return instead(query, changed as Partial<Q>)
}

function pausingTx(tx: Tx, pause: Pause): Tx {
  const paused = async (work: Promise<number>): Promise<number> => {
    const result = await work
    await pause()
    return result
  }
  return instead(pausingQuery(tx, pause), {
    insertMany: (table: TableSpec, rows: readonly Row[], options) => paused(tx.insertMany(table, rows, options)),
    updateMany: (table: TableSpec, columns: readonly string[], rows: readonly Row[]) => paused(tx.updateMany(table, columns, rows)),
  })
}

function instead<T extends object>(object: T, changed: Partial<T>): T {
  return new Proxy(object, {
    get(target, name, proxy) {
      if (name in changed) return changed[name as keyof T]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(name in Statements.prototype ? proxy : target) : value
    },
  })
}
