import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { CheckpointAnswer, CheckpointMode } from './checkpoints.ts'

/**
 * The worker thread of sqlite-checkpoints.ts: for every message, which names a mode, it moves the write-ahead log into the database
 * file on a connection of its own, and answers with how long the log is, or with the sentence of what went wrong.
 */

/** While writing goes on, a pass ends behind the log's end; the next is shorter. */
const MAX_PASSES = 4
const SHORT_REST_PAGES = 500
/** How long a reader of another process may keep the log from being begun anew. */
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
    return { pages: 0, problem: error instanceof Error ? error.message : String(error) }
  }
}
