import Database from 'better-sqlite3'
import { FatalError, TransientError } from '../../base/errors.ts'

const TRANSIENT: readonly (readonly [code: string, sentence: string])[] = [
  ['SQLITE_BUSY', 'is locked by another process'],
  ['SQLITE_LOCKED', 'is locked by another connection'],
  ['SQLITE_FULL', 'cannot grow: the disk is full'],
  // The one I/O error that a full disk causes, when nobody else has the database open.
  ['SQLITE_IOERR_SHMSIZE', 'cannot be opened: the disk is full, with no room for the -shm file beside it'],
  ['SQLITE_IOERR', 'cannot be read or written: the disk answers with an error'],
  ['SQLITE_READONLY', 'cannot be written: it is read-only'],
  ['SQLITE_CANTOPEN', 'cannot be opened'],
]

/** @returns whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

/** @returns whether the disk failed to keep what was written before. */
export function isFailedSync(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.endsWith('FSYNC')
}

/**
 * @param path of the database, for the message.
 * @returns TransientError for a lock, a full disk or a failing one; FatalError for a file that is damaged or no database; any other error
 * unchanged.
 */
export function sqliteError(error: unknown, path: string): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  if (error.code.startsWith('SQLITE_CORRUPT') || error.code === 'SQLITE_NOTADB') {
    return new FatalError(`${path} is damaged or is no SQLite database (${error.message}); restore it from a backup`, { cause: error })
  }
  const known = TRANSIENT.find(([code]) => error.code.startsWith(code))
  return known ? new TransientError(`${path} ${known[1]} (${error.message})`, { cause: error }) : error
}
