import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { CompiledQuery } from 'kysely'
import { messageOf } from '../../base/errors.ts'
import { SqliteConnection } from './connection.ts'
import { SqliteRows } from './rows.ts'
import type { WorkerAnswer, WorkerRequest } from './worker-thread.ts'

/** Script of the worker thread that worker-thread.ts starts. */

/** Maximum wait for a lock, in ms; blocks only this thread. Commands hold a lock for up to 50 ms. */
const LOCK_WAIT_MS = 5_000

const connection = new SqliteConnection(String(workerData), { fileMustExist: true, timeout: LOCK_WAIT_MS })
connection.database.pragma('synchronous = full')
connection.database.pragma('wal_autocheckpoint = 0')
connection.database.pragma('temp_store = memory')
connection.database.pragma('secure_delete = on')
const rows = new SqliteRows(connection)

parentPort?.on('message', (request: WorkerRequest) => {
  parentPort?.postMessage(answerTo(request))
})

function answerTo(request: WorkerRequest): WorkerAnswer {
  try {
    return { value: request.inTransaction ? connection.step(() => execute(request)) : execute(request) }
  } catch (error) {
    return { problem: messageOf(error), code: error instanceof Database.SqliteError ? error.code : null }
  }
}

function execute(request: WorkerRequest): unknown {
  switch (request.do) {
    case 'begin':
      return connection.begin()
    case 'commit':
      return connection.commit()
    case 'rollback':
      return connection.rollback()
    case 'run':
      return connection.run(request.query as CompiledQuery)
    case 'selectMany':
      return rows.selectMany(request.table, request.keys)
    case 'selectWhere':
      return rows.selectWhere(request.table, request.where, request.limit)
    case 'insertMany':
      return rows.insertMany(request.table, request.rows, request.ignore)
    case 'updateMany':
      return rows.updateMany(request.table, request.columns, request.rows)
    case 'close':
      connection.close()
      return null
  }
}
