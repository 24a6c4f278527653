import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { CompiledQuery } from 'kysely'
import { messageOf } from '../../base/errors.ts'
import { SqliteConnection } from './connection.ts'
import { SqliteRows } from './rows.ts'
import type { WorkerAnswer, WorkerRequest } from './worker-thread.ts'

/** The worker thread of worker-thread.ts. */

/** Waiting holds up nobody here; a command beside `serve` has the lock for 50 ms at most. */
const LOCK_WAIT_MS = 5_000

const connection = new SqliteConnection(String(workerData), { fileMustExist: true, timeout: LOCK_WAIT_MS })
connection.database.pragma('synchronous = full')
connection.database.pragma('wal_autocheckpoint = 0')
connection.database.pragma('temp_store = memory')
const rows = new SqliteRows(connection)

parentPort?.on('message', (order: WorkerRequest) => {
  parentPort?.postMessage(answerTo(order))
})

function answerTo(order: WorkerRequest): WorkerAnswer {
  try {
    return { value: obey(order) }
  } catch (error) {
    return { problem: messageOf(error), code: error instanceof Database.SqliteError ? error.code : null }
  }
}

function obey(order: WorkerRequest): unknown {
  // Outside of it each statement would be committed by itself.
  if (order.inTransaction && !connection.database.inTransaction) throw new Error('the transaction was ended before it was committed')
  switch (order.do) {
    case 'exec':
      // Some errors have ended the transaction already.
      if (order.text === 'rollback') return connection.rollback()
      connection.database.exec(order.text)
      return null
    case 'run':
      return connection.run(order.query as CompiledQuery)
    case 'selectMany':
      return rows.selectMany(order.table, order.keys)
    case 'selectWhere':
      return rows.selectWhere(order.table, order.where, order.limit)
    case 'insertMany':
      return rows.insertMany(order.table, order.rows, order.ignore)
    case 'updateMany':
      return rows.updateMany(order.table, order.columns, order.rows)
    case 'close':
      connection.close()
      return null
  }
}
