import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { CheckpointAnswer, CheckpointMode } from './checkpoints.ts'

/**
 * Script of the worker thread that checkpoints.ts starts. The thread has its own connection. Each message to it is a
 * checkpoint mode.
 */

/**
 * Maximum number of passes. While other connections write, one pass doesn't reach the end of the log, but each further
 * pass has less to copy.
 */
const MAX_PASSES = 4
const SHORT_REST_PAGES = 500
/** Maximum wait in ms until readers in other processes finish. */
const READER_WAIT_MS = 10

const database = new Database(String(workerData), { fileMustExist: true, timeout: READER_WAIT_MS })
database.pragma('synchronous = full')

parentPort?.on('message', (mode: CheckpointMode) => {
  parentPort?.postMessage(answer(mode))
})

function answer(mode: CheckpointMode): CheckpointAnswer {
  try {
    let pages = 0
    for (let pass = 0; pass < (mode === 'passive' ? MAX_PASSES : 1); pass++) {
      const [state] = database.pragma(`wal_checkpoint(${mode})`) as { log: number; checkpointed: number }[]
      pages = state?.log ?? 0
      if (pages - (state?.checkpointed ?? 0) < SHORT_REST_PAGES) break
    }
    return { pages }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return error instanceof Database.SqliteError ? { pages: 0, problem, code: error.code } : { pages: 0, problem }
  }
}
