import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

/**
 * The worker thread of sqlite-checkpoints.ts: on every message it moves the write-ahead log into the database file, on a
 * connection of its own, and answers with nothing, or with the sentence of what went wrong.
 */

/** Pages of 4 KB. Above the first the log is begun anew, above the second its file is cut to nothing. */
const RESTART_PAGES = 4_096
const TRUNCATE_PAGES = 65_536
/** How long a restart may wait for readers, and meanwhile make a writer wait. */
const RESTART_WAIT_MS = 10

const database = new Database(String(workerData), { fileMustExist: true })
database.pragma('synchronous = full')

parentPort?.on('message', () => {
  try {
    checkpoint()
    parentPort?.postMessage(null)
  } catch (error) {
    parentPort?.postMessage(error instanceof Error ? error.message : String(error))
  }
})

function checkpoint(): void {
  // A passive checkpoint disturbs nobody, but under steady writing it never reaches the end of the log, which therefore grows.
  database.pragma('busy_timeout = 0')
  const [state] = database.pragma('wal_checkpoint(passive)') as { log: number }[]
  const pages = state?.log ?? 0
  if (pages < RESTART_PAGES) return
  database.pragma(`busy_timeout = ${RESTART_WAIT_MS}`)
  // Restarting keeps the file's blocks, and overwriting those is faster than growing a file.
  database.pragma(`wal_checkpoint(${pages < TRUNCATE_PAGES ? 'restart' : 'truncate'})`)
}
